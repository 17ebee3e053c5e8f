/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes send each other random messages, and receive them in random ways:
 * by wildcards, by buffers that take many, by looking first and claiming; some
 * receives are cancelled. Each message has to come where the model says. LINK_SEED:
 * that seed only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/test/model.h"
#include "link/test/pair.h"

#define ROUNDS      12
#define ROUNDS_LONG 2000
#define AHEAD       40 /* receives that wait, at most */
#define CAME_MAX    256
#define MANY_MORE   3000 /* what a buffer for many has above MODEL_LARGE */

/* What is posted, or was claimed: of the take with the same number. */
struct posted {
	struct fi_context context; /* first */
	struct model_take *take;
	bool is_to_fetch;  /* it was claimed */
	bool has_come;     /* its message, or that it is cancelled */
	bool is_cancelled; /* as the provider says */
	bool has_ended;    /* its message is where the model has it */
	uint32_t got;      /* messages, of many */
	size_t used;       /* bytes of these */
	uint8_t *room;
};

struct came {
	struct posted *posted;
	struct fi_cq_tagged_entry entry;
};

static struct {
	struct model out, in; /* what this process sends, and what it gets */
	struct sim_rng rng;
	struct posted posted[MODEL_TAKES];
	const struct posted *by[MODEL_MESSAGES]; /* which got it */
	uint32_t sent, sending, left;            /* left: to be got */
	uint32_t seen[2]; /* before this one of a kind all are there */
	/* While a cancel is under way nobody knows what the model has. */
	bool is_cancelling;
	struct came came[CAME_MAX];
	unsigned int came_count;
	uint8_t *free_buffers[AHEAD];
	unsigned int free_count;
	fi_addr_t nobody;
} w;

static struct {
	unsigned long messages, takes, cancelled, late, looks, claims, many;
} seen;

static uint8_t bytes[2 * MODEL_LARGEST + 64]; /* that both know */

static uint64_t below(uint64_t limit)
{
	return sim_rng_below(&w.rng, limit);
}

static bool has_ended(const struct model_take *take)
{
	return w.posted[take - w.in.takes].has_ended;
}

/* --- what comes --- */

static void ends(struct posted *p)
{
	p->has_ended = true;
	w.free_buffers[w.free_count++] = p->room;
}

static void check_entry(uint32_t number, const struct fi_cq_tagged_entry *entry)
{
	const struct model_message *m;

	pair_check(number < MODEL_MESSAGES);
	m = &w.in.messages[number];
	pair_check(entry->len == m->size);
	pair_check(((entry->flags & FI_TAGGED) != 0) == m->is_tagged);
	pair_check(!m->is_tagged || entry->tag == m->tag);
	pair_check(((entry->flags & FI_REMOTE_CQ_DATA) != 0) == m->has_data);
	pair_check(!m->has_data || entry->data == number);
	if (w.seen[m->is_tagged] <= number)
		w.seen[m->is_tagged] = number + 1;
}

static void check_got(const struct posted *p, uint32_t number,
		      const struct fi_cq_tagged_entry *entry, const void *at)
{
	const struct model_message *m = &w.in.messages[number];

	check_entry(number, entry);
	pair_check(memcmp(at, bytes + m->offset, m->size) == 0);
	pair_check(w.by[number] == NULL);
	w.by[number] = p;
	w.left--;
}

/* Those of a buffer may end in another order than they came. */
static uint32_t slice_find(const struct posted *p,
			   const struct fi_cq_tagged_entry *entry)
{
	const uint8_t *at = p->room;

	for (uint32_t i = 0; i < p->take->count; i++) {
		uint32_t number = p->take->next[i];
		size_t size = w.in.messages[number].size;
		if (at == entry->buf && size == entry->len &&
		    w.by[number] == NULL)
			return number;
		at += size;
	}
	return MODEL_NONE;
}

static void take_in_many(struct posted *p,
			 const struct fi_cq_tagged_entry *entry)
{
	check_got(p, slice_find(p, entry), entry, entry->buf);
	p->got++;
	p->used += entry->len;
	if ((entry->flags & FI_MULTI_RECV) == 0)
		return;
	pair_check(p->got == p->take->count);
	pair_check(p->take->room - p->used < MODEL_LARGE);
	ends(p);
}

static void take_in(struct pair *pair)
{
	for (unsigned int i = 0; i < w.came_count; i++) {
		struct posted *p = w.came[i].posted;
		const struct fi_cq_tagged_entry *entry = &w.came[i].entry;
		if (p->take->kind == TAKE_MANY) {
			take_in_many(p, entry);
			continue;
		}
		pair_check(!p->has_ended);
		check_got(p, p->take->first, entry, p->room);
		ends(p);
	}
	w.came_count = 0;
}

/* A message that is looked at: what is said of it. */
struct look {
	void *context;
	bool is_answered, is_there;
	struct fi_cq_tagged_entry entry;
};

static void failed(struct pair *pair, struct look *look)
{
	struct fi_cq_err_entry failure = { 0 };
	struct posted *p;

	pair_check(fi_cq_readerr(pair->receive_cq, &failure, 0) == 1);
	if (look != NULL && failure.op_context == look->context) {
		pair_check(failure.err == FI_ENOMSG);
		look->is_answered = true;
		return;
	}
	p = failure.op_context;
	pair_check(failure.err == FI_ECANCELED && w.is_cancelling);
	p->has_come = p->is_cancelled = true;
}

/* Also what was sent. */
static void poll_all(struct pair *pair, struct look *look)
{
	struct came *next = &w.came[w.came_count];
	struct fi_cq_tagged_entry sent;
	fi_addr_t source;
	ssize_t count;

	while (fi_cq_read(pair->send_cq, &sent, 1) == 1)
		w.sending--;
	count = fi_cq_readfrom(pair->receive_cq, &next->entry, 1, &source);
	if (count == -FI_EAVAIL) {
		failed(pair, look);
	} else if (count == 1) {
		pair_check(source == pair->peer);
		if (look != NULL && next->entry.op_context == look->context) {
			look->is_answered = look->is_there = true;
			look->entry = next->entry;
			return;
		}
		next->posted = next->entry.op_context;
		next->posted->has_come = true;
		w.came_count++;
		pair_check(w.came_count < CAME_MAX);
	} else {
		pair_check(count == -FI_EAGAIN);
		pair_progress(pair);
	}
	if (!w.is_cancelling)
		take_in(pair);
}

/* --- what the program does --- */

static void send_one(struct pair *pair)
{
	const struct model_message *m = &w.out.messages[w.sent];
	const uint8_t *at = bytes + m->offset;
	bool is_injected = m->size <= 4096 && below(3) == 0;
	struct iovec iov = { (void *)at, m->size };
	uint64_t flags = FI_COMPLETION | (m->has_data ? FI_REMOTE_CQ_DATA : 0) |
			 (is_injected ? FI_INJECT : 0) |
			 (below(10) == 0 ? FI_DELIVERY_COMPLETE : 0);
	struct fi_msg_tagged tagged = { .msg_iov = &iov,
					.iov_count = 1,
					.addr = pair->peer,
					.tag = m->tag,
					.data = w.sent };
	struct fi_msg untagged = { .msg_iov = &iov,
				   .iov_count = 1,
				   .addr = pair->peer,
				   .data = w.sent };
	ssize_t result;

	if (w.sent == MODEL_MESSAGES)
		return;
	result = m->is_tagged ? fi_tsendmsg(pair->ep, &tagged, flags)
			      : fi_sendmsg(pair->ep, &untagged, flags);
	pair_check(result == 0 || result == -FI_EAGAIN);
	w.sent += result == 0;
	w.sending += result == 0;
	seen.messages += result == 0;
}

static struct model_take some_take(bool is_tagged)
{
	static const uint64_t ignores[] = {
		0, 0, 0, UINT64_C(1) << 62, UINT64_C(1) << 62 | 3, 1
	};

	return (struct model_take){
		.is_tagged = is_tagged,
		.is_nobody_s = below(12) == 0,
		.tag = is_tagged ? below(4) | below(2) << 62 : 0,
		.ignore = is_tagged ? ignores[below(6)] : 0,
		.first = MODEL_NONE,
	};
}

static fi_addr_t source_for(struct pair *pair, const struct model_take *take)
{
	return take->is_nobody_s ? w.nobody
	       : below(2) == 0   ? FI_ADDR_UNSPEC
				 : pair->peer;
}

static void receive(struct pair *pair, struct posted *p, uint64_t flags)
{
	const struct model_take *take = p->take;
	struct iovec iov = { p->room, take->room };
	struct fi_msg_tagged tagged = { .msg_iov = &iov,
					.iov_count = 1,
					.addr = source_for(pair, take),
					.tag = take->tag,
					.ignore = take->ignore,
					.context = p };
	struct fi_msg untagged = { .msg_iov = &iov,
				   .iov_count = 1,
				   .addr = tagged.addr,
				   .context = p };

	flags |= FI_COMPLETION;
	pair_do(take->is_tagged ? fi_trecvmsg(pair->ep, &tagged, flags)
				: fi_recvmsg(pair->ep, &untagged, flags));
}

static struct posted *posted_add(const struct model_take *take)
{
	struct posted *p = &w.posted[w.in.take_count];

	pair_check(w.in.take_count < MODEL_TAKES);
	*p = (struct posted){ .room = w.free_buffers[--w.free_count] };
	p->take = model_add(&w.in, take);
	return p;
}

static void post_one(struct pair *pair, const struct model_take *take)
{
	struct posted *p;

	if (w.free_count == 0)
		return;
	p = posted_add(take);
	seen.takes++;
	seen.many += take->kind == TAKE_MANY;
	receive(pair, p, take->kind == TAKE_MANY ? FI_MULTI_RECV : 0);
}

static void post_some(struct pair *pair)
{
	struct model_take take = some_take(below(4) != 0);

	take.room = take.is_tagged ? MODEL_LARGEST : MODEL_LARGE;
	/* These are not cancelled, and so must not have all the room. */
	if (!take.is_tagged && !take.is_nobody_s && below(4) == 0 &&
	    w.free_count > AHEAD / 2) {
		take.kind = TAKE_MANY;
		take.room += below(MANY_MORE);
	}
	post_one(pair, &take);
}

/* It may have a message that waits to be claimed. */
static bool is_matched_by_core(void)
{
	return getenv("FI_FAIRLEAD_OFFLOAD") != NULL;
}

/* What has a message already is not cancelled, and the other way round. */
static void cancel(struct pair *pair, struct posted *p)
{
	const struct model_take *take = p->take;
	int result = fi_cancel(&pair->ep->fid, p);

	pair_check(result == 0 || result == -FI_ENOENT);
	w.is_cancelling = result == 0;
	while (!p->has_come)
		poll_all(pair, NULL);
	w.is_cancelling = false;
	if (p->is_cancelled) {
		pair_check(take->first == MODEL_NONE || is_matched_by_core() ||
			   take->first >= w.seen[take->is_tagged]);
		p->take->is_out = true;
		ends(p);
		pair_check(model_renew(&w.in, has_ended));
		seen.cancelled++;
	} else {
		seen.late++;
	}
	take_in(pair);
}

static bool can_cancel(const struct posted *p, bool is_idle)
{
	return !p->has_ended && p->take->kind == TAKE_ONE &&
	       (!is_idle || p->take->first == MODEL_NONE);
}

/* is_idle: one for which no message will come. */
static void cancel_one(struct pair *pair, bool is_idle)
{
	uint32_t count = w.in.take_count, from;

	if (count == 0)
		return;
	from = (uint32_t)below(count);
	for (uint32_t i = 0; i < count; i++)
		if (can_cancel(&w.posted[(from + i) % count], is_idle)) {
			cancel(pair, &w.posted[(from + i) % count]);
			return;
		}
}

/* It has to be there when a later one was. */
static bool look_for(struct pair *pair, struct model_take *take, void *context,
		     uint64_t flags)
{
	struct look look = { .context = context };
	struct fi_msg_tagged tagged = { .addr = source_for(pair, take),
					.tag = take->tag,
					.ignore = take->ignore,
					.context = context };
	struct fi_msg untagged = { .addr = tagged.addr, .context = context };
	bool must;

	take->first = model_find(&w.in, take);
	must = take->first != MODEL_NONE &&
	       take->first < w.seen[take->is_tagged];
	flags |= FI_PEEK | FI_COMPLETION;
	pair_do(take->is_tagged ? fi_trecvmsg(pair->ep, &tagged, flags)
				: fi_recvmsg(pair->ep, &untagged, flags));
	while (!look.is_answered)
		poll_all(pair, &look);
	pair_check(look.is_there || !must);
	if (look.is_there)
		check_entry(take->first, &look.entry);
	seen.looks += look.is_there;
	return look.is_there;
}

static void look_only(struct pair *pair)
{
	struct model_take take = some_take(below(4) != 0);
	struct fi_context context;

	look_for(pair, &take, &context, 0);
}

static void discard(struct pair *pair)
{
	struct model_take take = some_take(below(4) != 0);
	struct fi_context context;
	struct posted *p;

	if (!look_for(pair, &take, &context, FI_DISCARD))
		return;
	take.kind = TAKE_THIS;
	p = &w.posted[w.in.take_count];
	*p = (struct posted){ .has_ended = true };
	p->take = model_add(&w.in, &take);
	w.by[take.first] = p;
	w.left--;
}

static void claim(struct pair *pair)
{
	struct model_take take = some_take(below(4) != 0);
	struct posted *p = &w.posted[w.in.take_count];

	if (w.free_count == 0)
		return;
	*p = (struct posted){ 0 };
	if (!look_for(pair, &take, p, FI_CLAIM))
		return;
	take.kind = TAKE_THIS;
	take.room = MODEL_LARGEST;
	p->take = model_add(&w.in, &take);
	p->room = w.free_buffers[--w.free_count];
	p->is_to_fetch = true;
	seen.claims++;
}

static void fetch_one(struct pair *pair)
{
	for (uint32_t i = 0; i < w.in.take_count; i++) {
		struct posted *p = &w.posted[i];
		if (!p->is_to_fetch)
			continue;
		p->is_to_fetch = false;
		receive(pair, p, FI_CLAIM);
		return;
	}
}

/* --- rounds --- */

static void step(struct pair *pair)
{
	uint64_t what = below(100);

	/* What is left is for the rest: who waits long may cancel often. */
	if (w.in.take_count + MODEL_MESSAGES >= MODEL_TAKES && what >= 25)
		what = what < 60 ? 56 : 60;
	if (what < 25)
		send_one(pair);
	else if (what < 45)
		post_some(pair);
	else if (what < 49 || (w.free_count == 0 && what < 60))
		cancel_one(pair, false);
	else if (what < 52)
		look_only(pair);
	else if (what < 53)
		discard(pair);
	else if (what < 56)
		claim(pair);
	else if (what < 60)
		fetch_one(pair);
	else
		poll_all(pair, NULL);
}

/* What is left is for whoever takes anything. */
static void take_rest(struct pair *pair)
{
	static const uint64_t all = ~UINT64_C(0) >> 1;

	while (w.left > 0 || w.sent < MODEL_MESSAGES || w.sending > 0) {
		bool is_tagged = below(2) == 0;
		struct model_take take = { .is_tagged = is_tagged,
					   .ignore = is_tagged ? all : 0,
					   .room = MODEL_LARGEST };
		send_one(pair);
		fetch_one(pair);
		if (w.free_count == 0)
			cancel_one(pair, true);
		if (model_find(&w.in, &take) != MODEL_NONE)
			post_one(pair, &take);
		poll_all(pair, NULL);
	}
}

static void cancel_rest(struct pair *pair)
{
	for (uint32_t i = 0; i < w.in.take_count; i++) {
		struct posted *p = &w.posted[i];
		if (p->has_ended)
			continue;
		pair_check(p->take->kind != TAKE_THIS);
		pair_check(p->take->kind == TAKE_MANY ||
			   p->take->first == MODEL_NONE);
		pair_do(fi_cancel(&pair->ep->fid, p));
		w.is_cancelling = true;
		while (!p->is_cancelled)
			poll_all(pair, NULL);
		w.is_cancelling = false;
		ends(p);
	}
}

static void check_all(struct pair *pair)
{
	for (uint32_t i = 0; i < w.in.take_count; i++) {
		const struct posted *p = &w.posted[i];
		for (uint32_t k = 0; k < p->take->count; k++)
			pair_check(p->take->is_out ||
				   w.by[p->take->kind == TAKE_MANY
						? p->take->next[k]
						: p->take->first] == p);
	}
	pair_check(w.free_count == AHEAD && w.came_count == 0);
	pair_is_quiet(pair, pair->receive_cq);
}

static void run_seed(struct pair *pair, uint64_t seed)
{
	unsigned int mine = pair->is_first ? 0 : 1;

	sim_rng_init(&w.rng, 4 * seed + mine);
	model_init(&w.out, 4 * seed + 2 + mine);
	model_init(&w.in, 4 * seed + 3 - mine);
	memset(w.by, 0, sizeof(w.by));
	w.sent = 0;
	w.seen[0] = w.seen[1] = 0;
	w.left = MODEL_MESSAGES;
	for (unsigned int i = 0; i < 3 * MODEL_MESSAGES; i++)
		step(pair);
	take_rest(pair);
	cancel_rest(pair);
	pair_meet(pair);
	check_all(pair);
	pair_meet(pair);
}

static void open_all(struct pair *pair)
{
	struct sim_rng rng;
	uint8_t name[64];
	size_t size = sizeof(name), least = MODEL_LARGE;

	sim_rng_init(&rng, 1);
	for (size_t i = 0; i + 8 <= sizeof(bytes); i += 8) {
		uint64_t word = sim_rng_u64(&rng);
		memcpy(bytes + i, &word, sizeof(word));
	}
	for (unsigned int i = 0; i < AHEAD; i++) {
		uint8_t *room = malloc(MODEL_LARGEST);
		pair_check(room != NULL);
		w.free_buffers[w.free_count++] = room;
	}
	pair_do(fi_setopt(&pair->ep->fid, FI_OPT_ENDPOINT,
			  FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)));
	/* Itself, to which it sends nothing. */
	pair_do(fi_getname(&pair->ep->fid, name, &size));
	pair_check(fi_av_insert(pair->av, name, 1, &w.nobody, 0, NULL) == 1);
}

static void each_message_comes_where_the_model_says(struct pair *pair)
{
	const char *length = getenv("FAIRLEAD_TEST"),
		   *only = getenv("LINK_SEED");
	bool is_long = length != NULL && strcmp(length, "long") == 0;
	uint64_t seed = only == NULL ? 1 : strtoull(only, NULL, 10);
	uint64_t end = only != NULL ? seed : is_long ? ROUNDS_LONG : ROUNDS;

	open_all(pair);
	for (; seed <= end; seed++) {
		if (pair->is_first) {
			printf("\rseed %llu ", (unsigned long long)seed);
			fflush(stdout);
		}
		run_seed(pair, seed);
	}
	while (w.free_count > 0)
		free(w.free_buffers[--w.free_count]);
	printf("%lu messages, %lu receives, %lu for many; %lu cancelled, %lu "
	       "too late; %lu looked at, %lu claimed\n",
	       seen.messages, seen.takes, seen.many, seen.cancelled, seen.late,
	       seen.looks, seen.claims);
	pair_check(only != NULL || (seen.cancelled > end && seen.looks > end &&
				    seen.claims > end / 2 && seen.many > end));
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE |
			FI_MULTI_RECV,
	};
	static const struct pair_case cases[] = {
		pair_case(each_message_comes_where_the_model_says),
	};
	return pair_run(&setting, cases, 1);
}

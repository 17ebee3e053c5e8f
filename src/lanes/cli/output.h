/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What subcommands print: JSON as it came, or texts and tables for people.
 *
 * Readers of JSON members never fail: an absent member is "", 0 or an empty
 * list, as the client protocol has it.
 */
#pragma once

#include "lanes/cli/cli.h"

/* Indented, with a newline, in the order of its members; an exit code. */
int output_json(struct cli *cli, const json_t *json);

/* --- members of an answer --- */

/* "" unless it is a text; json may be NULL. */
const char *output_text(const json_t *json, const char *name);
json_int_t output_number(const json_t *json, const char *name);
double output_real(const json_t *json, const char *name);
/* A grant of `list` or `explain`: by its state its job has it, or gets it. */
bool output_is_live(const json_t *grant);

/* --- texts for people; the caller gives the buffer --- */

#define OUTPUT_DURATION_MAX 32
#define OUTPUT_TIME_MAX     32

/* "250 ms", "12 s", "3 m 5 s", "2 h 4 m", "5 d 1 h". */
void output_duration(double seconds, char text[OUTPUT_DURATION_MAX]);
/* Local time of a moment: "2025-07-01 12:00:00"; "-" for 0. */
void output_time(double since, char text[OUTPUT_TIME_MAX]);
/*
 * Identifiers: {"vni":"1024-1025"} is "vni 1024-1025", [1024,1025] is
 * "1024,1025", nothing is "-". The caller frees it.
 */
char *output_ids(const json_t *ids);
/* The user's name, or the number as text. The caller frees it. */
char *output_user(json_int_t uid);
/* A number, a name of a user; false when there is none. */
bool output_parse_user(const char *text, uid_t *ret_uid);
/* {"up":3,"down":1} as "3 up, 1 down"; "none" when all are 0. */
char *output_counts(const json_t *counts);
/* ["a","b"] as "a,b", a text as it is; "-" when there are none. */
char *output_join(const json_t *texts);
/* As one word for a shell: 'it'\''s'. */
void output_quoted(FILE *out, const char *text);

/* A text of several lines on stderr, the subject before each one. */
void output_lines(struct cli *cli, const char *subject, const char *text);

/* As output_time(), of a member of a table. */
char *output_moment(const json_t *since);
/* As output_user(), likewise. */
char *output_uid(const json_t *uid);

/* --- tables --- */

enum column_flags {
	COLUMN_RIGHT = 1u << 0,
	COLUMN_WRAP = 1u << 1,  /* last columns with long texts */
	COLUMN_STATE = 1u << 2, /* coloured by what it says */
};

struct column {
	const char *name; /* "NODES"; NULL ends a list */
	unsigned int flags;
	const char *member; /* of a row; NULL: the row itself */
	/*
	 * The cell's text, which is freed; NULL or "": "-". Without it texts
	 * and numbers are shown.
	 */
	char *(*format)(const json_t *value);
};

/* Print a table of an array of objects; nothing when it has no rows. */
void output_table(struct cli *cli, const struct column *columns,
		  const json_t *rows);

/*
 * An answer: as JSON with --json, else by show(). An exit code.
 */
int output_answer(struct cli *cli, const json_t *answer,
		  void (*show)(struct cli *cli, const json_t *answer));

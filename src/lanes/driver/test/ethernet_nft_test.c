/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/nft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/nft_text.h"
#include "lanes/driver/test/netns.h"

#define NFT    "/usr/sbin/nft"
#define MANY   100000
#define FAR_FD 200
#define SCRIPT "/run/ethernet-nft-test"
#define TABLE  "table inet " RULES_TABLE
#define OURS   "counter " RULES_VERSION " { }"

static int apply(const char *text, struct fairlead_error *ret_error)
{
	return nft_apply(NFT, text, strlen(text), ret_error);
}

static void apply_well(const char *text)
{
	struct fairlead_error error = { 0 };

	if (apply(text, &error) < 0)
		fail_msg("%s: %s", text, error.text);
}

static void assert_refused(const char *text, int code, const char *part)
{
	struct fairlead_error error = { 0 };

	assert_int_equal(apply(text, &error), code);
	assert_int_equal(error.code, code);
	if (strstr(error.text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static enum nft_table table(void)
{
	struct fairlead_error error = { 0 };
	enum nft_table table;

	if (nft_table(NFT, &table, NULL, &error) < 0)
		fail_msg("%s", error.text);
	return table;
}

/* A program that can be named as nft. */
static void script_make(const char *commands)
{
	FILE *file = fopen(SCRIPT, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", commands);
	assert_int_equal(fchmod(fileno(file), 0755), 0);
	assert_int_equal(fclose(file), 0);
}

/* What the program says is the error. */
static void assert_script(const char *commands, int code, const char *words)
{
	struct fairlead_error error = { 0 };

	script_make(commands);
	assert_int_equal(nft_apply(SCRIPT, "text", 4, &error), code);
	assert_string_equal(error.text, words);
	unlink(SCRIPT);
}

static void nft_s_words_are_the_error(void **state)
{
	apply_well("table inet other");
	assert_refused("add rule inet other nochain drop", -ENOENT,
		       "No such file or directory");
	assert_refused("create table inet other", -EEXIST, "File exists");
	assert_refused("add nonsense", -EIO, "syntax error");
	apply_well("delete table inet other");
}

static void a_text_is_done_wholly_or_not_at_all(void **state)
{
	assert_refused(TABLE "\ndelete table inet nothing\n", -ENOENT, "nft: ");
	assert_int_equal(table(), NFT_TABLE_NONE);
}

static void a_text_may_be_of_any_size(void **state)
{
	_auto_(freep) char *text = malloc(MANY * 20 + 256);
	char *at = text;

	assert_non_null(text);
	at += sprintf(at, "table inet big { set ports { "
			  "type ipv4_addr; }\n }\n"
			  "add element inet big ports { 10.0.0.0");
	for (uint32_t i = 1; i < MANY; i++)
		at += sprintf(at, ", 10.%u.%u.%u", i >> 16, i >> 8 & 255,
			      i & 255);
	sprintf(at, " }\n");
	apply_well(text);
	apply_well("delete element inet big ports { 10.1.134.159 }");
	apply_well("delete table inet big");
}

static void what_nft_says_may_be_of_any_size(void **state)
{
	assert_script("echo first >&2; head -c 3000000 /dev/zero >&2; "
		      "head -c 3000000 /dev/zero; exit 1",
		      -EIO, "nft: first");
}

static void the_child_gets_nothing_of_ours(void **state)
{
	int fd = open("/dev/null", O_RDONLY);

	assert_int_equal(dup2(fd, FAR_FD), FAR_FD);
	setenv("FAIRLEAD_SECRET", "1", 1);
	assert_script("far=open; [ -e /proc/$$/fd/200 ] || far=closed\n"
		      "echo $(pwd) ${FAIRLEAD_SECRET-unset} $(cat) $far >&2\n"
		      "exit 1",
		      -EIO, "nft: / unset text closed");
	close(fd);
	close(FAR_FD);
}

static void a_program_that_is_not_there_is_an_error_of_its_own(void **state)
{
	struct fairlead_error error = { 0 };
	enum nft_table table = NFT_TABLE_OURS;

	assert_int_equal(nft_apply("/run/no-nft", "", 0, &error), -ENOPKG);
	assert_string_equal(error.text, "there is no '/run/no-nft'");
	assert_int_equal(nft_table("/run/no-nft", &table, NULL, &error),
			 -ENOPKG);
	assert_int_equal(table, NFT_TABLE_OURS);
}

static void a_child_that_was_killed_has_failed(void **state)
{
	assert_script("kill -9 $$", -EIO, "nft was ended by signal 9");
	assert_script("exit 1", -EIO, "nft failed without a word");
}

static void a_table_is_ours_by_its_version(void **state)
{
	assert_int_equal(table(), NFT_TABLE_NONE);
	apply_well(TABLE);
	assert_int_equal(table(), NFT_TABLE_FOREIGN);
	apply_well(TABLE " { counter fairlead_rules_0 { }; }");
	assert_int_equal(table(), NFT_TABLE_FOREIGN);
	apply_well(TABLE " { " OURS "; }");
	assert_int_equal(table(), NFT_TABLE_OURS);
}

static void a_table_is_deleted_and_others_stay(void **state)
{
	struct fairlead_error error = { 0 };

	apply_well("table inet other\ntable ip " RULES_TABLE);
	apply_well(TABLE);
	assert_int_equal(nft_table_delete(NFT, &error), 0);
	assert_int_equal(table(), NFT_TABLE_NONE);
	assert_int_equal(nft_table_delete(NFT, &error), 0);
	apply_well("delete table inet other\ndelete table ip " RULES_TABLE);
}

static void counters_are_read_by_name(void **state)
{
	struct nft_counters counters = { 0 };
	struct fairlead_error error = { 0 };

	apply_well(TABLE " { " OURS ";"
			 " counter refused_send { packets 7 bytes 70; };"
			 " counter refused_raw { packets 18446744073709551615 "
			 "bytes 1; };"
			 " counter refused_host { packets 3 bytes 9; };"
			 " counter unknown { packets 9 bytes 9; };"
			 " }");
	assert_int_equal(nft_counters(NFT, &counters, &error), 0);
	assert_int_equal(counters.refused_send, 7);
	assert_true(counters.refused_raw == UINT64_MAX);
	assert_int_equal(counters.refused_host, 3);
	assert_int_equal(counters.refused_way, 0);
}

static void a_foreign_table_has_no_counters_of_ours(void **state)
{
	struct nft_counters counters = { .refused_raw = 5 };
	struct fairlead_error error = { 0 };

	assert_int_equal(nft_counters(NFT, &counters, &error), -ENOENT);
	apply_well(TABLE " { counter refused_raw { packets 7 bytes 7; }; }");
	assert_int_equal(nft_counters(NFT, &counters, &error), -ENOENT);
	assert_int_equal(counters.refused_raw, 5);
}

/* In a child with these capabilities; its exit code is apply's errno. */
static int apply_with(uint32_t capabilities)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = capabilities, .permitted = capabilities },
	};
	struct fairlead_error error = { 0 };
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (syscall(SYS_capset, &header, data) < 0 ||
		    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			_exit(255);
		_exit(-nft_apply(NFT, "add table inet other", 20, &error));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void net_admin_is_all_that_it_needs(void **state)
{
	assert_int_equal(apply_with(1u << CAP_NET_ADMIN), 0);
	apply_well("delete table inet other");
}

static void without_net_admin_it_is_refused(void **state)
{
	assert_int_equal(apply_with(1u << CAP_SYS_ADMIN), EPERM);
}

static void a_program_that_others_can_replace_is_refused(void **state)
{
	struct fairlead_error error = { 0 };

	assert_int_equal(nft_check("nft", &error), -EPERM);
	assert_int_equal(nft_check("/run/no-nft", &error), -ENOENT);
	assert_int_equal(nft_check(NFT, &error), 0);
	script_make("exit 0");
	assert_int_equal(nft_check(SCRIPT, &error), 0);
	assert_int_equal(chmod(SCRIPT, 0777), 0);
	assert_int_equal(nft_check(SCRIPT, &error), -EPERM);
	assert_int_equal(chmod(SCRIPT, 0755), 0);
	assert_int_equal(chown(SCRIPT, 1, 0), 0);
	assert_int_equal(nft_check(SCRIPT, &error), -EPERM);
	unlink(SCRIPT);
}

/* Whatever a test has left. */
static int forget(void **state)
{
	unlink(SCRIPT);
	return nft_table_delete(NFT, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(nft_s_words_are_the_error, forget),
		cmocka_unit_test_teardown(a_text_is_done_wholly_or_not_at_all,
					  forget),
		cmocka_unit_test_teardown(a_text_may_be_of_any_size, forget),
		cmocka_unit_test_teardown(what_nft_says_may_be_of_any_size,
					  forget),
		cmocka_unit_test_teardown(the_child_gets_nothing_of_ours,
					  forget),
		cmocka_unit_test_teardown(
			a_program_that_is_not_there_is_an_error_of_its_own,
			forget),
		cmocka_unit_test_teardown(a_child_that_was_killed_has_failed,
					  forget),
		cmocka_unit_test_teardown(a_table_is_ours_by_its_version,
					  forget),
		cmocka_unit_test_teardown(a_table_is_deleted_and_others_stay,
					  forget),
		cmocka_unit_test_teardown(counters_are_read_by_name, forget),
		cmocka_unit_test_teardown(
			a_foreign_table_has_no_counters_of_ours, forget),
		cmocka_unit_test_teardown(net_admin_is_all_that_it_needs,
					  forget),
		cmocka_unit_test_teardown(without_net_admin_it_is_refused,
					  forget),
		cmocka_unit_test_teardown(
			a_program_that_others_can_replace_is_refused, forget),
	};

	if (!netns_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

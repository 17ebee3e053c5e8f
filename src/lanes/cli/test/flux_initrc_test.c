/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls in the Lua of Flux's job shells. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lanes/cli/flux/initrc.h"

/* The calls of a text, a line each: `KIND FILE {CONF}`. */
static char *calls_of(const char *text)
{
	static const char *const kinds[] = { [INITRC_LOAD] = "load",
					     [INITRC_SOURCE] = "source",
					     [INITRC_RCPATH] = "rcpath" };
	char *all = calloc(1, 4096);
	struct initrc_call call;

	while (initrc_next(&text, &call)) {
		char *conf =
			json_dumps(call.conf, JSON_SORT_KEYS | JSON_COMPACT);
		size_t used = strlen(all);

		snprintf(all + used, 4096 - used, "%s%s %s %s",
			 used ? "\n" : "", kinds[call.kind], call.file, conf);
		free(conf);
		initrc_call_fini(&call);
	}
	return all;
}

static void expect(const char *text, const char *wanted)
{
	char *calls = calls_of(text);

	assert_string_equal(calls, wanted);
	free(calls);
}

static void the_file_that_flux_installs_is_read(void **state)
{
	expect("-- Load all *.so plugins from plugin.searchpath\n"
	       "plugin.load { file = \"*.so\", conf = {} }\n\n"
	       "-- Source all rc files under shell.rcpath/lua.d/*.lua\n"
	       "shell.source_rcpath (\"*.lua\")\n"
	       "shell.source_rcpath_option (\"mpi\")\n"
	       "if shell.options.userrc then source (shell.options.userrc) "
	       "end\n"
	       "-- source_if_exists \"~/.flux/shell/initrc.lua\"\n"
	       "-- vi: ts=4 sw=4 expandtab\n",
	       "load *.so {}\nrcpath *.lua {}\nsource  {}");
}

static void so_is_ours(void **state)
{
	expect("plugin.load {\n"
	       "    file = \"/usr/lib/fairlead/flux/fairlead-shell.so\",\n"
	       "    conf = { default = \"must\" }\n}\n",
	       "load /usr/lib/fairlead/flux/fairlead-shell.so "
	       "{\"default\":\"must\"}");
}

static void a_call_is_written_in_many_ways(void **state)
{
	expect("plugin.load \"a.so\"", "load a.so {}");
	expect("plugin . load('a.so');", "load a.so {}");
	expect("plugin.load [[a.so]]", "load a.so {}");
	expect("plugin.load [==[a]]so]==]", "load a]]so {}");
	expect("plugin.load({conf={a='1',[\"b\"]=[[2]];c=\"3\"},"
	       "[\"file\"]='a.so'})",
	       "load a.so {\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}");
	expect("source \"a.lua\" source_if_exists('b.lua')",
	       "source a.lua {}\nsource b.lua {}");
}

static void what_is_made_up_is_not_guessed(void **state)
{
	expect("plugin.load { file = path, conf = { default = mode } }",
	       "load  {\"default\":null}");
	expect("plugin.load { file = \"/a/\" .. name }", "load  {}");
	expect("plugin.load { file = \"a.so\", conf = settings }",
	       "load a.so {}");
	expect("plugin.load { file = \"a.so\", conf = { n = 5, t = {x=\"y\"}, "
	       "d = \"z\" }, other = { default = \"none\" } }",
	       "load a.so {\"d\":\"z\",\"n\":null,\"t\":null}");
}

static void comments_and_texts_have_no_calls(void **state)
{
	expect("-- plugin.load \"a.so\"\n--[[ plugin.load \"b.so\"\n]]"
	       "--[==[ ]] plugin.load 'c.so' ]==]",
	       "");
	expect("print(\"plugin.load 'a.so'\", 'x -- y') plugin.load 'b.so'",
	       "load b.so {}");
	expect("x = \"\\\"plugin.load 'a.so'\" -- \\\nplugin.load 'b.so'",
	       "load b.so {}");
	expect("plugin.loader 'a.so' plugins.load 'b.so' \"plugin\".load 'c'",
	       "");
}

static void what_breaks_off_ends(void **state)
{
	expect("", "");
	expect("plugin", "");
	expect("plugin.", "");
	expect("plugin.load", "load  {}");
	expect("plugin.load {", "load  {}");
	expect("plugin.load { file =", "load  {}");
	expect("plugin.load { file = \"a", "load a {}");
	expect("plugin.load { conf = { a = 'b", "load  {\"a\":\"b\"}");
	expect("--[[ plugin.load 'a'", "");
	expect("'plugin.load", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_that_flux_installs_is_read),
		cmocka_unit_test(so_is_ours),
		cmocka_unit_test(a_call_is_written_in_many_ways),
		cmocka_unit_test(what_is_made_up_is_not_guessed),
		cmocka_unit_test(comments_and_texts_have_no_calls),
		cmocka_unit_test(what_breaks_off_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

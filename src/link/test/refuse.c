/* SPDX-License-Identifier: BSD-3-Clause */
/* In the table of the provider's library by which it finds what it calls. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link/test/refuse.h"

static struct refuse *now;

static bool is_refused(void *site)
{
	unsigned int which =
		__atomic_fetch_add(&now->count, 1, __ATOMIC_RELAXED);

	if (which < REFUSE_MAX)
		now->sites[which] = site;
	if (which + 1 != now->refused)
		return false;
	errno = ENOMEM;
	return true;
}

#define SITE __builtin_return_address(0)

static void *refuse_malloc(size_t size)
{
	return is_refused(SITE) ? NULL : malloc(size);
}

static void *refuse_calloc(size_t count, size_t size)
{
	return is_refused(SITE) ? NULL : calloc(count, size);
}

static void *refuse_realloc(void *old, size_t size)
{
	return is_refused(SITE) ? NULL : realloc(old, size);
}

static char *refuse_strdup(const char *text)
{
	return is_refused(SITE) ? NULL : strdup(text);
}

static uintptr_t instead_of(const char *name)
{
	return strcmp(name, "malloc") == 0    ? (uintptr_t)refuse_malloc
	       : strcmp(name, "calloc") == 0  ? (uintptr_t)refuse_calloc
	       : strcmp(name, "realloc") == 0 ? (uintptr_t)refuse_realloc
	       : strcmp(name, "strdup") == 0  ? (uintptr_t)refuse_strdup
					      : 0;
}

/* What the linker knows of a library; addresses are absolute. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * rela, *calls;
	size_t rela_size, calls_size;
};

static struct tables tables_of(uintptr_t base, const ElfW(Dyn) * at)
{
	struct tables t = { 0 };

	for (; at->d_tag != DT_NULL; at++) {
		uintptr_t value = at->d_un.d_ptr;
		uintptr_t address = value < base ? value + base : value;
		switch (at->d_tag) {
		case DT_SYMTAB:
			t.symbols = (const void *)address;
			break;
		case DT_STRTAB:
			t.names = (const void *)address;
			break;
		case DT_RELA:
			t.rela = (const void *)address;
			break;
		case DT_RELASZ:
			t.rela_size = value;
			break;
		case DT_JMPREL:
			t.calls = (const void *)address;
			break;
		case DT_PLTRELSZ:
			t.calls_size = value;
			break;
		default:
			break;
		}
	}
	return t;
}

/* The linker made it read-only, when it was done. */
static bool place_set(uintptr_t place, uintptr_t value)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *begin = (void *)(place & ~(page - 1));

	if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0)
		return false;
	*(uintptr_t *)place = value;
	return true;
}

static unsigned int places_set(uintptr_t base, const struct tables *t,
			       const ElfW(Rela) * all, size_t size)
{
	unsigned int count = 0;

	for (size_t i = 0; i < size / sizeof(*all); i++) {
		const ElfW(Sym) *symbol =
			&t->symbols[ELF64_R_SYM(all[i].r_info)];
		uintptr_t value = instead_of(t->names + symbol->st_name);
		if (value != 0 && place_set(base + all[i].r_offset, value))
			count++;
	}
	return count;
}

static int library_seen(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned int *count = arg;

	if (strstr(info->dlpi_name, "libfairlead") == NULL)
		return 0;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		const struct tables t =
			tables_of(info->dlpi_addr,
				  (const void *)(info->dlpi_addr +
						 info->dlpi_phdr[i].p_vaddr));
		*count += places_set(info->dlpi_addr, &t, t.rela, t.rela_size);
		*count +=
			places_set(info->dlpi_addr, &t, t.calls, t.calls_size);
	}
	return 0;
}

bool refuse_begin(struct refuse *refuse)
{
	unsigned int count = 0;

	now = refuse;
	dl_iterate_phdr(library_seen, &count);
	return count > 0;
}

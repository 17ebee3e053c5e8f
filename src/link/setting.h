/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and limits of the provider, and the variables that change them. */
#pragma once

#define LINK_TAG_BITS          63 /* the upper one says: untagged */
#define LINK_UNTAGGED          (UINT64_C(1) << LINK_TAG_BITS)
#define LINK_KEY_SIZE          7 /* of memory; others are the provider's own */
#define LINK_IOV_MAX           4
#define LINK_INJECT_SIZE       4096
#define LINK_EAGER_SIZE        16384 /* of a message in a frame, at most */
#define LINK_CORE_CQ_SIZE      8192
#define LINK_BUFFERS           256 /* for frames, on each rail */
#define LINK_POLL_BATCH        16
#define LINK_POLL_INTERVAL_MAX 64
/* How much unexpected data is kept, in bytes: FI_FAIRLEAD_UNEXPECTED_MAX. */
#define LINK_UNEXPECTED_MAX (UINT64_C(16) << 30)

/* Where the text of the links is looked for, in this order. */
#define LINK_TEXT_VARIABLES                               \
	{                                                 \
		"FI_FAIRLEAD_LINKS", "FI_LNX_PROV_LINKS", \
			"FI_LINKX_PROV_LINKS"             \
	}

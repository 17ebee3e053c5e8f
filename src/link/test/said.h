/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said on the standard error meanwhile: libfabric's messages go there. */
#pragma once

void said_begin(void);
/* Until now; the text is there until the next time. */
const char *said_end(void);

/* SPDX-License-Identifier: BSD-3-Clause */
/* The system's files, behind the file seam. */
#pragma once

#include "base/seam.h"

/*
 * A lock is flock(2) on the file, which holds the process id as text. The
 * context of the seam owns nothing.
 */
struct file_seam sys_files(void);

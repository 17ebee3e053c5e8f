/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A driver for tests with real processes: its hardware is the directory of the
 * setting `path`, with one file for each lane, named by the lane's identifier.
 * A lane whose file has something in it is busy. A job gets one identifier of
 * 2000 to 2099.
 */
#pragma once

#include "fairlead_driver.h"

extern const struct fairlead_driver dir_driver;

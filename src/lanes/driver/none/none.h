/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver for jobs, or clusters, without an interconnect of their own: it
 * reserves nothing, makes nothing, and is a job's explicit "no lane".
 */
#pragma once

#include "fairlead_driver.h"

extern const struct fairlead_driver none_driver;

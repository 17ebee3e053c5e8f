/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Before libscoll loads libfabric for `provider`: from now on libfabric takes
 * nothing from the environment but FI_LOG_*, and loads that provider alone. To
 * be called before there is a thread.
 */
void libfabric_prepare(const char *provider);

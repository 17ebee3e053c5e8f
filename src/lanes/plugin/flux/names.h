/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that flux-coral2 has given, and that users and their tools know. */
#pragma once

/*
 * The shell option, the event of a lane on Slingshot and of a job that is to
 * have none, and the exception of a job that cannot have one.
 */
#define NAME_CRAY "cray-slingshot"

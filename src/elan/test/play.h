/* SPDX-License-Identifier: BSD-3-Clause */
/* What is between the stage and its players. */
#pragma once

#include "elan/test/stage.h"

/* The process is player n from now on. */
void player_serve(struct player *players, int n) __attribute__((noreturn));
/* This user with all ids, and no other groups. 0 or a negative errno. */
int become(uid_t uid);

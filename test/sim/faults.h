/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes wrong. Which kinds of faults there are in a run, and how often, is
 * drawn from the seed, so that each is also seen alone; they come until
 * faults_heal().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "world.h"

struct faults;

struct faults *faults_create(struct world *world);
void faults_destroy(struct faults *faults);
/* No more of it: everything has power, is connected and works. */
void faults_heal(struct faults *faults);
/* A frame on the network of the nodes, which an attacker may write down. */
void faults_overhear(struct faults *faults, const char *from, const char *to,
		     const void *frame, size_t size);

/* --- attack.c --- */

struct attack;

struct attack *attack_create(struct world *world);
void attack_destroy(struct attack *attack);
void attack_overhear(struct attack *attack, const char *from, const char *to,
		     const void *frame, size_t size);
/* Something evil. */
void attack(struct attack *attack);

/* --- twin.c --- */

struct twin;

struct twin *twin_create(struct world *world);
void twin_destroy(struct twin *twin);
/* It tries to be a node, if there is one that was rebooted. */
void twin_appear(struct twin *twin);

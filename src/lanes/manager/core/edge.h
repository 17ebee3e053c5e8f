/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The edges of the core's state machines and the errors that it gives out, in
 * one table: what is not in it cannot happen, and a simulation that never
 * took one of them has not tested it.
 *
 *	job   one grant, as its job manager sees it
 *	part  what one node has of a grant
 *	id    one identifier of a pool; `outside` is not in the universe
 *	limit a named maximum was met
 */
#pragma once

#include <stddef.h>

#define EDGE_TABLE(X)                                                  \
	X(JOB_RESERVE, "job:none->reserved")                           \
	X(JOB_APPLY, "job:reserved->applying")                         \
	X(JOB_ACTIVATE_BARE, "job:reserved->active")                   \
	X(JOB_CANCEL, "job:reserved->releasing")                       \
	X(JOB_ACTIVATE, "job:applying->active")                        \
	X(JOB_UNDO, "job:applying->releasing")                         \
	X(JOB_RELEASE, "job:active->releasing")                        \
	X(JOB_RELEASED, "job:releasing->released")                     \
	X(JOB_FAILED, "job:releasing->failed")                         \
	X(JOB_RELEASED_GONE, "job:released->gone")                     \
	X(JOB_FAILED_GONE, "job:failed->gone")                         \
	X(PART_ASK, "part:pending->applying")                          \
	X(PART_APPLIED, "part:applying->applied")                      \
	X(PART_UNDO, "part:applying->revoking")                        \
	X(PART_UNDONE, "part:applying->revoked")                       \
	X(PART_REVOKE, "part:applied->revoking")                       \
	X(PART_GONE, "part:applied->revoked")                          \
	X(PART_LOSE, "part:applied->lost")                             \
	X(PART_MISS, "part:applied->missing")                          \
	X(PART_FIND, "part:missing->applied")                          \
	X(PART_REVOKE_MISSING, "part:missing->revoking")               \
	X(PART_LOSE_MISSING, "part:missing->lost")                     \
	X(PART_REVOKED, "part:revoking->revoked")                      \
	X(CONFIRM_FANOUT, "confirm:fanout")                            \
	X(CONFIRM_LATE, "confirm:late")                                \
	X(CONFIRM_EARLY, "confirm:early")                              \
	X(CONFIRM_FENCED, "confirm:fenced")                            \
	X(CONFIRM_WAIVED, "confirm:waived")                            \
	X(CONFIRM_FOREIGN, "confirm:other-incarnation")                \
	X(CONFIRM_BUSY, "confirm:busy")                                \
	X(PART_RESET_APPLYING, "part:reset-while-applying")            \
	X(PART_RETRY, "part:revoke-again")                             \
	X(ID_TAKE, "id:free->held")                                    \
	X(ID_PUT, "id:held->free")                                     \
	X(ID_PUT_WITHHELD, "id:held->withheld")                        \
	X(ID_PUT_OUTSIDE, "id:held->outside")                          \
	X(ID_QUARANTINE, "id:held->quarantined")                       \
	X(ID_CLEAR, "id:quarantined->free")                            \
	X(ID_CLEAR_WITHHELD, "id:quarantined->withheld")               \
	X(ID_CLEAR_OUTSIDE, "id:quarantined->outside")                 \
	X(ID_WITHHOLD, "id:free->withheld")                            \
	X(ID_UNWITHHOLD, "id:withheld->free")                          \
	X(ID_LEAVE, "id:free->outside")                                \
	X(ID_ENTER, "id:outside->free")                                \
	X(NODE_FIRST, "node:unknown->up")                              \
	X(NODE_BACK, "node:down->up")                                  \
	X(NODE_AGAIN, "node:up->up")                                   \
	X(NODE_LOST, "node:up->down")                                  \
	X(NODE_REBOOT, "node:rebooted")                                \
	X(NODE_DRAIN, "node:drained")                                  \
	X(NODE_UNDRAIN, "node:undrained")                              \
	X(NODE_UNDRAIN_AUTO, "node:undrained-when-clean")              \
	X(NODE_LEAVE, "node:leaving")                                  \
	X(NODE_RETURN, "node:returned")                                \
	X(NODE_GONE, "node:gone")                                      \
	X(REPORT_OBJECT, "report:foreign-object")                      \
	X(REPORT_UNKNOWN, "report:unknown-grant")                      \
	X(REPORT_RELEASED, "report:released-grant")                    \
	X(REPORT_UNAPPLIED, "report:grant-never-applied-there")        \
	X(REPORT_CONFIRMED, "report:grant-confirmed-there")            \
	X(REPORT_DIFFERENT, "report:grant-with-other-identifiers")     \
	X(REPORT_MISSING, "report:applied-grant-missing")              \
	X(RECOVERY_BEGIN, "recovery:begun")                            \
	X(RECOVERY_END, "recovery:over")                               \
	X(LIMIT_TOMBSTONES, "limit:tombstones")                        \
	X(LIMIT_EVENTS, "limit:events")                                \
	X(LIMIT_OPERATOR, "limit:operator")                            \
	X(RESERVE_EMPTY, "reserve:goes-on-without")                    \
	X(RESERVE_REPEAT, "reserve:repeated")                          \
	X(APPLY_REPEAT, "apply:repeated")                              \
	X(APPLY_JOIN, "apply:joined")                                  \
	X(RELEASE_REPEAT, "release:repeated")                          \
	X(RELEASE_JOIN, "release:joined")                              \
	X(RELEASE_GRACE, "release:grace")                              \
	X(RELEASE_GRACE_DONE, "release:grace-over")                    \
	X(RELEASE_GRACE_JOIN, "release:grace-joined")                  \
	X(RELEASE_APPLYING, "release:while-applying")                  \
	X(ERROR_RESERVE_EPERM, "error:reserve:-EPERM")                 \
	X(ERROR_RESERVE_EEXIST, "error:reserve:-EEXIST")               \
	X(ERROR_RESERVE_ESTALE, "error:reserve:-ESTALE")               \
	X(ERROR_RESERVE_EINVAL, "error:reserve:-EINVAL")               \
	X(ERROR_RESERVE_ENOENT, "error:reserve:-ENOENT")               \
	X(ERROR_RESERVE_EHOSTDOWN, "error:reserve:-EHOSTDOWN")         \
	X(ERROR_RESERVE_DRIVER, "error:reserve:driver")                \
	X(ERROR_RESERVE_EAGAIN, "error:reserve:-EAGAIN")               \
	X(LIMIT_RESERVE, "limit:reserve")                              \
	X(ERROR_APPLY_EPERM, "error:apply:-EPERM")                     \
	X(ERROR_APPLY_ENOENT, "error:apply:-ENOENT")                   \
	X(ERROR_APPLY_ESTALE, "error:apply:-ESTALE")                   \
	X(LIMIT_APPLY, "limit:apply")                                  \
	X(ERROR_APPLY_EHOSTUNREACH, "error:apply:-EHOSTUNREACH")       \
	X(ERROR_APPLY_MEMBERS, "error:apply:members")                  \
	X(ERROR_APPLY_EREMOTEIO, "error:apply:-EREMOTEIO")             \
	X(ERROR_APPLY_ECANCELED, "error:apply:-ECANCELED")             \
	X(ERROR_RELEASE_EPERM, "error:release:-EPERM")                 \
	X(ERROR_RELEASE_ENOENT, "error:release:-ENOENT")               \
	X(LIMIT_RELEASE, "limit:release")                              \
	X(ERROR_NODE_EINVAL, "error:node:-EINVAL")                     \
	X(ERROR_NODE_ENOENT, "error:node:-ENOENT")                     \
	X(ERROR_NODE_EBUSY, "error:node:-EBUSY")                       \
	X(ERROR_QUARANTINE_EINVAL, "error:quarantine-release:-EINVAL") \
	X(ERROR_QUARANTINE_ENOENT, "error:quarantine-release:-ENOENT") \
	X(ERROR_QUARANTINE_EBUSY, "error:quarantine-release:-EBUSY")   \
	X(ERROR_REGISTER_ENOENT, "error:register:-ENOENT")             \
	X(ERROR_REGISTER_EEXIST, "error:register:-EEXIST")             \
	X(ERROR_REGISTER_ESTALE, "error:register:-ESTALE")             \
	X(LIMIT_REGISTER, "limit:register")

enum edge {
#define EDGE_NAME(name, text) EDGE_##name,
	EDGE_TABLE(EDGE_NAME)
#undef EDGE_NAME
	EDGE_COUNT,
};

/* A NULL function: no coverage is wanted. */
struct edge_probe {
	void (*hit)(void *ctx, const char *edge);
	void *ctx;
};

/* Their texts; the last one is NULL. */
extern const char *const edge_texts[EDGE_COUNT + 1];

void edge_hit(const struct edge_probe *probe, enum edge edge);

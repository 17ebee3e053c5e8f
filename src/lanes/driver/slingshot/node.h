/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the node half, one file each, behind slingshot_node_ops. */
#pragma once

#include <stdint.h>

#include "lanes/driver/slingshot/nic.h"
#include "lanes/driver/slingshot/service.h"
#include "lanes/driver/common/warnings.h"
#include "fairlead_driver.h"

/* As fairlead_node_ops has them; state is a struct slingshot_node. */
int slingshot_apply(void *state, const struct fairlead_lane *lane,
		    bool is_dry_run, struct fairlead_record *ret_record,
		    struct fairlead_warnings *warnings,
		    struct fairlead_error *ret_error);
int slingshot_revoke(void *state, const struct fairlead_lane *lane,
		     const struct fairlead_record *record, bool is_dry_run,
		     struct fairlead_warnings *warnings,
		     struct fairlead_error *ret_error);
int slingshot_env(void *state, const struct fairlead_lane *lane,
		  const struct fairlead_record *record,
		  void (*emit)(void *arg, const char *name, const char *value),
		  void *arg, struct fairlead_error *ret_error);
int slingshot_inherit(void *state, uid_t uid,
		      const char *(*get)(void *arg, const char *name),
		      void *arg, struct fairlead_error *ret_error);

/*
 * For a lane with the option netns: the inode of the job's namespace here.
 * -EOPNOTSUPP: the library or the configuration has none; -ENOENT and others:
 * it is not there, or no namespace of a job.
 */
int slingshot_netns_find(const struct slingshot_node *node,
			 const struct fairlead_lane *lane, uint32_t *ret_netns,
			 struct fairlead_error *ret_error);
/* Bind a service that nobody uses yet. It is destroyed when that fails. */
int slingshot_netns_bind(const struct cxi_nic *nic, uint32_t svc_id,
			 uint32_t netns, struct fairlead_error *ret_error);

/* The record of a lane with these services on the node: none, or one a NIC. */
void slingshot_record(const struct slingshot_lane *lane,
		      const struct slingshot_services *made,
		      struct fairlead_record *ret_record);
/*
 * Add these variables to the record of a lane, on a node. A file of
 * authorities that this node does not have is left out, with a warning:
 * libfabric would wait for ever. -EINVAL with a text: they are none.
 */
int hwcoll_record(const struct fairlead_lane *lane,
		  struct fairlead_record *record,
		  struct fairlead_warnings *warnings,
		  struct fairlead_error *ret_error);

/* -EBADMSG with a text: damaged, or not ours. */
int slingshot_record_check(const struct fairlead_record *record,
			   struct fairlead_error *ret_error);
/* The services that variables name. -ENODEV with a text. */
int slingshot_services_read(const char *devices, const char *ids,
			    struct slingshot_services *services,
			    struct fairlead_error *ret_error);

/*
 * Destroy a service. 0: it is gone, or went meanwhile. -EBUSY with a text
 * that names service, NIC, VNIs and who holds it; other errors of the
 * library with a text.
 */
int node_destroy_service(const struct slingshot_node *node,
			 const struct cxi_nic *nic,
			 const struct cxi_svc_desc *desc,
			 struct fairlead_error *ret_error);
/*
 * What that would say now, as far as is known: -EBUSY also when only processes
 * of the service's owner have the NIC open, which may use another service.
 */
int node_try_destroy(const struct slingshot_node *node,
		     const struct cxi_nic *nic, const struct cxi_svc_desc *desc,
		     struct fairlead_error *ret_error);

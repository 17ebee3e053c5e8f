/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rest of the vendor library's symbols. Other programs need them to link
 * and to load; what stands behind them in hardware (command queues, memory,
 * registers) is not modelled, and they say so: -ENOSYS. Of their arguments only
 * the first is looked at, the object, which may not be NULL: they are declared
 * without the others.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#define STUB(name)                                                           \
	__attribute__((visibility("default"))) int name(const void *object); \
	int name(const void *object)                                         \
	{                                                                    \
		return object == NULL ? -EINVAL : -ENOSYS;                   \
	}

STUB(cxil_alloc_buf_cmdq)
STUB(cxil_alloc_cmdq)
STUB(cxil_alloc_cp)
STUB(cxil_alloc_ct)
STUB(cxil_alloc_domain)
STUB(cxil_alloc_evtq)
STUB(cxil_alloc_pte)
STUB(cxil_alloc_trig_cp)
STUB(cxil_alloc_wait_obj)
STUB(cxil_cmdq_ack_counter)
STUB(cxil_ct_wb_update)
STUB(cxil_destroy_cmdq)
STUB(cxil_destroy_cp)
STUB(cxil_destroy_ct)
STUB(cxil_destroy_domain)
STUB(cxil_destroy_evtq)
STUB(cxil_destroy_pte)
STUB(cxil_destroy_wait_obj)
STUB(cxil_evtq_adjust_reserved_fc)
STUB(cxil_evtq_resize)
STUB(cxil_evtq_resize_complete)
STUB(cxil_get_telemetry)
STUB(cxil_get_telemetry_refresh_interval)
STUB(cxil_get_wait_obj_fd)
STUB(cxil_inbound_wait)
STUB(cxil_invalidate_pte_le)
STUB(cxil_map)
STUB(cxil_map_csr)
STUB(cxil_map_pte)
STUB(cxil_modify_cp)
STUB(cxil_pte_status)
STUB(cxil_pte_transition_sm)
STUB(cxil_read_all_cntrs)
STUB(cxil_read_cntr)
STUB(cxil_read_csr)
STUB(cxil_read_n_cntrs)
STUB(cxil_read_n_cntrs_with_hdr)
STUB(cxil_release_cntr_pool_id)
STUB(cxil_reserve_cntr_pool_id)
STUB(cxil_reserve_domain)
STUB(cxil_sbus_op)
STUB(cxil_sbus_op_compat)
STUB(cxil_sbus_op_reset)
STUB(cxil_sbus_op_reset_compat)
STUB(cxil_serdes_op)
STUB(cxil_set_telemetry_refresh_interval)
STUB(cxil_unmap)
STUB(cxil_unmap_pte)
STUB(cxil_update_md)
STUB(cxil_write8_csr)
STUB(cxil_write_csr)

#pragma GCC visibility push(default)
int cxil_get_amo_remap_to_pcie_fadd(const void *dev, int *ret_remap);
void cxil_clear_wait_obj(void);
size_t cxil_page_size(void);
bool cxil_is_copy_on_fork(void);
#pragma GCC visibility pop

/* Which atomic operation is done as a fetch-add of PCIe: -1, none. */
int cxil_get_amo_remap_to_pcie_fadd(const void *dev, int *ret_remap)
{
	if (dev == NULL || ret_remap == NULL)
		return -EINVAL;
	*ret_remap = -1;
	return 0;
}

void cxil_clear_wait_obj(void)
{
}

/* The vendor's takes an address; pages here are all of one size. */
size_t cxil_page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

bool cxil_is_copy_on_fork(void)
{
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device says of itself. A Cassini 1.1 at 200 Gb/s; the values that
 * are not totals only have to satisfy the clients: libfabric wants a
 * retry handler (pct_eq) and min_free_shift 0.
 */
#include "emu/cxi/core/model.h"

#include <stdio.h>

#define PCI_VENDOR_ID   0x17db
#define PCI_DEVICE_ID   0x0501
#define PCI_BUS_FIRST   0x40
#define PID_BITS        9
#define PID_GRANULE     256
#define LINK_MTU_BYTES  2048
#define LINK_SPEED_MBPS 200000

void devinfo_fill(const struct nic *nic, struct cxil_devinfo *ret_info)
{
	const struct softnic_config *config = &nic->softnic->config;
	const uint16_t *totals = config->totals;

	*ret_info = (struct cxil_devinfo){
		.dev_id = nic->number,
		.nid = config->nid + nic->number,
		.pid_bits = PID_BITS,
		.pid_count = (1u << PID_BITS) - 1,
		.pid_granule = PID_GRANULE,
		.rdzv_get_idx = PID_GRANULE - 1,
		.driver_name = "softnic",
		.vendor_id = PCI_VENDOR_ID,
		.device_id = PCI_DEVICE_ID,
		.device_rev = 1,
		.device_proto = 1,
		.num_ptes = totals[CXI_RSRC_TYPE_PTE],
		.num_txqs = totals[CXI_RSRC_TYPE_TXQ],
		.num_tgqs = totals[CXI_RSRC_TYPE_TGQ],
		.num_eqs = totals[CXI_RSRC_TYPE_EQ],
		.num_cts = totals[CXI_RSRC_TYPE_CT],
		.num_acs = totals[CXI_RSRC_TYPE_AC],
		.num_tles = totals[CXI_RSRC_TYPE_TLE],
		.num_les = totals[CXI_RSRC_TYPE_LE],
		.pci_bus = (uint8_t)(PCI_BUS_FIRST + nic->number),
		.link_mtu = LINK_MTU_BYTES,
		.link_speed = LINK_SPEED_MBPS,
		.link_state = 1,
		.uc_nic = (int)nic->number,
		.pct_eq = 1,
		.cassini_version = CASSINI_1_1,
		.fru_description = "software NIC",
		.system_type_identifier = CASSINI_1_ONLY,
	};
	snprintf(ret_info->device_name, sizeof(ret_info->device_name), "cxi%u",
		 nic->number);
}

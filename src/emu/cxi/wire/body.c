/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vendor's structures, field by field. A reader gets each field in the
 * range of its C type; whether the values make sense is the model's business.
 */
#include "emu/cxi/wire/wire.h"

#include <string.h>

#define DESC_RESTRICTED_MEMBERS (1u << 0)
#define DESC_RESTRICTED_VNIS    (1u << 1)
#define DESC_RESTRICTED_TCS     (1u << 2)
#define DESC_RESOURCE_LIMITS    (1u << 3)
#define DESC_ENABLE             (1u << 4)
#define DESC_SYSTEM             (1u << 5)
#define DESC_CNTR_POOL_SHIFT    6

static uint8_t desc_flags(const struct cxi_svc_desc *desc)
{
	unsigned int flags = (unsigned int)desc->cntr_pool_id
			     << DESC_CNTR_POOL_SHIFT;

	flags |= desc->restricted_members ? DESC_RESTRICTED_MEMBERS : 0;
	flags |= desc->restricted_vnis ? DESC_RESTRICTED_VNIS : 0;
	flags |= desc->restricted_tcs ? DESC_RESTRICTED_TCS : 0;
	flags |= desc->resource_limits ? DESC_RESOURCE_LIMITS : 0;
	flags |= desc->enable ? DESC_ENABLE : 0;
	flags |= desc->is_system_svc ? DESC_SYSTEM : 0;
	return (uint8_t)flags;
}

void wire_write_desc(struct writer *writer, const struct cxi_svc_desc *desc)
{
	write_u8(writer, desc_flags(desc));
	write_u8(writer, desc->num_vld_vnis);
	for (unsigned int i = 0; i < CXI_SVC_MAX_VNIS; i++)
		write_u16(writer, desc->vnis[i]);
	for (unsigned int i = 0; i < CXI_TC_MAX; i++)
		write_u8(writer, desc->tcs[i]);
	for (unsigned int i = 0; i < CXI_SVC_MAX_MEMBERS; i++) {
		write_u32(writer, desc->members[i].svc_member.uid);
		write_u32(writer, (uint32_t)desc->members[i].type);
	}
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		write_u16(writer, desc->limits.type[i].max);
		write_u16(writer, desc->limits.type[i].res);
	}
	write_u32(writer, desc->svc_id);
}

void wire_read_desc(struct reader *reader, struct cxi_svc_desc *ret_desc)
{
	uint8_t flags = read_u8(reader);
	struct cxi_svc_desc desc = {
		.restricted_members = (flags & DESC_RESTRICTED_MEMBERS) != 0,
		.restricted_vnis = (flags & DESC_RESTRICTED_VNIS) != 0,
		.restricted_tcs = (flags & DESC_RESTRICTED_TCS) != 0,
		.resource_limits = (flags & DESC_RESOURCE_LIMITS) != 0,
		.enable = (flags & DESC_ENABLE) != 0,
		.is_system_svc = (flags & DESC_SYSTEM) != 0,
		.cntr_pool_id =
			(unsigned int)flags >> DESC_CNTR_POOL_SHIFT & 3u,
	};

	desc.num_vld_vnis = read_u8(reader);
	for (unsigned int i = 0; i < CXI_SVC_MAX_VNIS; i++)
		desc.vnis[i] = read_u16(reader);
	for (unsigned int i = 0; i < CXI_TC_MAX; i++)
		desc.tcs[i] = read_u8(reader) != 0;
	for (unsigned int i = 0; i < CXI_SVC_MAX_MEMBERS; i++) {
		desc.members[i].svc_member.uid = read_u32(reader);
		desc.members[i].type = read_u32(reader);
	}
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		desc.limits.type[i].max = read_u16(reader);
		desc.limits.type[i].res = read_u16(reader);
	}
	desc.svc_id = read_u32(reader);
	*ret_desc = desc;
}

void wire_write_fail_info(struct writer *writer,
			  const struct cxi_svc_fail_info *info)
{
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++)
		write_u16(writer, info->rsrc_avail[i]);
	write_u8(writer, info->no_le_pools);
	write_u8(writer, info->no_tle_pools);
	write_u8(writer, info->no_cntr_pools);
}

void wire_read_fail_info(struct reader *reader,
			 struct cxi_svc_fail_info *ret_info)
{
	struct cxi_svc_fail_info info = { 0 };

	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++)
		info.rsrc_avail[i] = read_u16(reader);
	info.no_le_pools = read_u8(reader) != 0;
	info.no_tle_pools = read_u8(reader) != 0;
	info.no_cntr_pools = read_u8(reader) != 0;
	*ret_info = info;
}

void wire_write_use(struct writer *writer, const struct cxi_rsrc_use *use)
{
	write_u32(writer, use->svc_id);
	write_u32(writer, use->tle_pool_id);
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++)
		write_u16(writer, use->in_use[i]);
}

void wire_read_use(struct reader *reader, struct cxi_rsrc_use *ret_use)
{
	struct cxi_rsrc_use use = { 0 };

	use.svc_id = read_u32(reader);
	use.tle_pool_id = read_u32(reader);
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++)
		use.in_use[i] = read_u16(reader);
	*ret_use = use;
}

void wire_write_devinfo(struct writer *writer, const struct cxil_devinfo *info)
{
	write_u32(writer, info->dev_id);
	write_u32(writer, info->nid);
	write_u32(writer, info->pid_bits);
	write_u32(writer, info->pid_count);
	write_u32(writer, info->pid_granule);
	write_u32(writer, info->min_free_shift);
	write_u32(writer, info->rdzv_get_idx);
	write_bytes(writer, info->device_name, sizeof(info->device_name));
	write_bytes(writer, info->driver_name, sizeof(info->driver_name));
	write_u32(writer, info->vendor_id);
	write_u32(writer, info->device_id);
	write_u32(writer, info->device_rev);
	write_u32(writer, info->device_proto);
	write_u32(writer, info->device_platform);
	write_u16(writer, info->num_ptes);
	write_u16(writer, info->num_txqs);
	write_u16(writer, info->num_tgqs);
	write_u16(writer, info->num_eqs);
	write_u16(writer, info->num_cts);
	write_u16(writer, info->num_acs);
	write_u16(writer, info->num_tles);
	write_u16(writer, info->num_les);
	write_u16(writer, info->pci_domain);
	write_u8(writer, info->pci_bus);
	write_u8(writer, info->pci_device);
	write_u8(writer, info->pci_function);
	write_u64(writer, info->link_mtu);
	write_u64(writer, info->link_speed);
	write_u8(writer, info->link_state);
	write_u32(writer, (uint32_t)info->uc_nic);
	write_u32(writer, info->pct_eq);
	write_u32(writer, (uint32_t)info->cassini_version);
	write_bytes(writer, info->fru_description,
		    sizeof(info->fru_description));
	write_u8(writer, info->is_vf);
	write_u32(writer, (uint32_t)info->system_type_identifier);
}

static void read_name(struct reader *reader, char *name, size_t size)
{
	const uint8_t *bytes = read_bytes(reader, size);

	if (bytes == NULL)
		return;
	memcpy(name, bytes, size);
	name[size - 1] = '\0';
}

void wire_read_devinfo(struct reader *reader, struct cxil_devinfo *ret_info)
{
	struct cxil_devinfo info = { 0 };

	info.dev_id = read_u32(reader);
	info.nid = read_u32(reader);
	info.pid_bits = read_u32(reader);
	info.pid_count = read_u32(reader);
	info.pid_granule = read_u32(reader);
	info.min_free_shift = read_u32(reader);
	info.rdzv_get_idx = read_u32(reader);
	read_name(reader, info.device_name, sizeof(info.device_name));
	read_name(reader, info.driver_name, sizeof(info.driver_name));
	info.vendor_id = read_u32(reader);
	info.device_id = read_u32(reader);
	info.device_rev = read_u32(reader);
	info.device_proto = read_u32(reader);
	info.device_platform = read_u32(reader);
	info.num_ptes = read_u16(reader);
	info.num_txqs = read_u16(reader);
	info.num_tgqs = read_u16(reader);
	info.num_eqs = read_u16(reader);
	info.num_cts = read_u16(reader);
	info.num_acs = read_u16(reader);
	info.num_tles = read_u16(reader);
	info.num_les = read_u16(reader);
	info.pci_domain = read_u16(reader);
	info.pci_bus = read_u8(reader);
	info.pci_device = read_u8(reader);
	info.pci_function = read_u8(reader);
	info.link_mtu = read_u64(reader);
	info.link_speed = read_u64(reader);
	info.link_state = read_u8(reader);
	info.uc_nic = (int)read_u32(reader);
	info.pct_eq = read_u32(reader);
	info.cassini_version = read_u32(reader);
	read_name(reader, info.fru_description, sizeof(info.fru_description));
	info.is_vf = read_u8(reader) != 0;
	info.system_type_identifier = read_u32(reader);
	*ret_info = info;
}

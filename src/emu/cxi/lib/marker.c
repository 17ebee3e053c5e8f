/* SPDX-License-Identifier: BSD-3-Clause */
/* A loader recognises the software NIC's library by this symbol. */
#include "lanes/driver/slingshot/libcxi_abi.h"

const char fairlead_softnic_library[] = FAIRLEAD_VERSION;

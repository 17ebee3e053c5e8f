/* SPDX-License-Identifier: BSD-3-Clause */
/* By this symbol a loader tells the software NIC's library from the vendor's. */
#include "lanes/driver/slingshot/libcxi_abi.h"

const char fairlead_softnic_library[] = FAIRLEAD_VERSION;

/* SPDX-License-Identifier: BSD-3-Clause */
/* `none` against the contract: no devices, nothing to use or to break. */
#include "contract/contract.h"
#include "lanes/driver/driver.h"

static void start(struct contract_fixture *fixture)
{
	fixture->owner = 1000;
}

static void stop(struct contract_fixture *fixture)
{
}

int main(void)
{
	struct contract_fixture fixture = {
		.driver = driver_find("none"),
		.options = "",
		.options_bad = "vnis=1",
		.start = start,
		.stop = stop,
	};

	return contract_run(&fixture);
}

# SPDX-License-Identifier: BSD-3-Clause
# Fairlead has two promises, on a fresh Debian 12 with git and make:
#   make demo   installs what is missing, builds, and runs the main job
#   make test   the same set-up, then every test suite
# Everything else is meson's: see meson.build.

.PHONY: help demo test
.NOTPARALLEL:
.DEFAULT_GOAL := help

help:
	@echo 'make demo   set up, build, and show the main job on this machine'
	@echo 'make test   set up, build, and run every test (under 15 minutes)'
	@echo 'FAIRLEAD_TEST=long make test   the long run: seeds, sanitizers, fuzzing'

demo:
	@./pack/setup
	@./pack/build
	@./examples/demo build

test:
	@./pack/setup
	@./pack/build
	@./test/run

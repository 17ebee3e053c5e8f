# SPDX-License-Identifier: BSD-3-Clause
# Fairlead has two promises, on a fresh Debian 12 with git and make:
#   make demo   installs what is missing, builds, and runs the main job
#   make test   the same set-up, then every test suite
# and installs what was built:
#   make install, make uninstall   at PREFIX (/usr), below DESTDIR
#   make deb                       Debian packages, in out/
# Everything else is meson's: see meson.build.

.PHONY: help demo test install uninstall deb
.NOTPARALLEL:
.DEFAULT_GOAL := help

help:
	@echo 'make demo   set up, build, and show the main job on this machine'
	@echo 'make test   set up, build, and run every test (about 20 minutes)'
	@echo 'make install    build for this machine, and install at PREFIX=/usr'
	@echo 'make uninstall  take away what make install has put there'
	@echo 'make deb        build Debian packages, in out/'
	@echo 'FAIRLEAD_TEST=long make test   the long run: seeds, sanitizers, fuzzing'

demo:
	@./pack/setup
	@./pack/build
	@./examples/demo build

test:
	@./pack/setup
	@./pack/build
	@./test/run

install:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' ./pack/install

uninstall:
	@DESTDIR='$(DESTDIR)' ./pack/install --remove

deb:
	@./pack/deb

# SPDX-License-Identifier: BSD-3-Clause
# Two commands, on a fresh Debian 12 with git and make:
#   make demo   installs the packages that the demo needs, builds what it
#               runs, and shows the main job
#   make test   installs all of packages.txt, builds everything, runs every test
# and for use:
#   make install, make uninstall   at PREFIX (/usr), below DESTDIR
#   make deb                       Debian packages, in out/
# Everything else is meson's: see meson.build.

.PHONY: help demo test install uninstall deb
.NOTPARALLEL:
.DEFAULT_GOAL := help

help:
	@echo 'make demo   set up, build, and show the main job on this machine'
	@echo 'make test   set up, build, and run every test (about 10 minutes)'
	@echo 'make install    build for this machine, and install at PREFIX=/usr'
	@echo 'make uninstall  take away what make install has put there'
	@echo 'make deb        build Debian packages, in out/'
	@echo 'FAIRLEAD_TEST=long make test   the long run: seeds, sanitizers, fuzzing'

demo:
	@./pack/setup build demo
	@./pack/build demo
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

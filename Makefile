# Conveniences on top of CMake and its presets. `make test` and `make demo` work alone on a fresh
# Debian 12: they install missing packages when allowed, or say what to install.
# SPDX-License-Identifier: Apache-2.0

PRESET ?= release
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# More for CMake: make test FLAGS=-DEGRAPH_WERROR=ON
FLAGS ?=
# Another part of the suite: make test TESTS="-L unit"
TESTS ?= -LE slow
# Seconds per target: make fuzz FUZZ_SECONDS=600
FUZZ_SECONDS ?= 60

ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
endif

.PHONY: help build test test-all demo check setup lint docs format coverage fuzz install clean

help:
	@echo "make test       build (release) and run the suite without its slow tests"
	@echo "make test-all   the same with its slow tests"
	@echo "make demo       build (release), optimize two real networks and compare them"
	@echo "make check      the suite under sanitizers with all invariant checks (preset dev)"
	@echo "make lint       include layers, style, format, headers"
	@echo "make docs       the reference of the C API: build/docs/html (needs doxygen)"
	@echo "make format     clang-format all own sources"
	@echo "make coverage   line coverage by module (needs gcovr)"
	@echo "make fuzz       run every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) (needs clang)"
	@echo "make install    install below PREFIX=$(PREFIX)"
	@echo "make setup      install missing packages"
	@echo "PRESET=release|dev|relcheck|tsan chooses the build of build, test and install"

setup:
	@tools/setup.sh

build: setup
	@cmake --preset $(PRESET) --log-level=WARNING $(FLAGS) >/dev/null
	@cmake --build --preset $(PRESET) -j $(JOBS)

test: build
	ctest --preset $(PRESET) -j $(JOBS) $(TESTS)

test-all:
	@$(MAKE) --no-print-directory test TESTS=

check:
	@$(MAKE) --no-print-directory test-all PRESET=dev

# Builds what the demo runs, and nothing else.
demo: setup
	@cmake --preset release --log-level=WARNING $(FLAGS) >/dev/null
	@cmake --build --preset release -j $(JOBS) --target egraph_command build_network
	@tools/demo.sh build/release

lint: build
	ctest --preset $(PRESET) -j $(JOBS) -L lint

# A warning is an error: what is public has a comment.
docs:
	@tools/setup.sh doxygen python3
	@mkdir -p build/docs && doxygen docs/Doxyfile && echo build/docs/html/index.html

format:
	@tools/format.sh

coverage: setup
	@tools/coverage.sh

fuzz: setup
	@tools/fuzz.sh $(FUZZ_SECONDS)

install: build
	cmake --install build/$(PRESET) --prefix $(PREFIX)

clean:
	rm -rf build

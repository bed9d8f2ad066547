# The two commands: `make run` (the main job) and `make test`. Each installs what it needs first.
# Everything is built by CMake; see CMakePresets.json for its presets.
JOBS ?= $(shell nproc)
BUILD := build/release
SOURCES = git ls-files --cached --others --exclude-standard '*.cpp' '*.h' '*.hpp' '*.c'
# Looked up when a recipe runs: `deps` may just have installed it.
CCACHE = $$(command -v ccache >/dev/null && \
  echo "-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
# What ccache needs to be told before it serves files that use a precompiled header.
export CCACHE_SLOPPINESS = pch_defines,time_macros
# Rooms whose unit tests `make sanitize` builds; "all": every test but those of whole models.
ROOMS ?= all

.PHONY: run test build sanitize bench format check-format deps clean

# Compiles the OCR models once and reads the text out of the images of examples/ocr.
run: build
	@scripts/run_ocr.sh

# Every test; models that cannot be fetched are skipped with a reason.
test: build
	@scripts/install_deps.sh --models
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

build: deps
	@cmake --preset release $(CCACHE) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS)

# The tests again under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize: deps
	@cmake --preset sanitize $(CCACHE) >build/sanitize.log 2>&1 || { cat build/sanitize.log; exit 1; }
ifeq ($(ROOMS),all)
	@cmake --build build/sanitize -j $(JOBS)
	@LSAN_OPTIONS=suppressions=$(CURDIR)/test/leaks.supp \
	  ctest --test-dir build/sanitize --output-on-failure -j $(JOBS) -E '^((opencl\.)?model|meta)\.'
else
	@cmake --build build/sanitize -j $(JOBS) --target $(ROOMS:%=symtile_%_test)
	@ctest --test-dir build/sanitize --output-on-failure -j $(JOBS) \
	  -R '^symtile_($(shell echo $(ROOMS) | tr ' ' '|'))_test$$'
endif

# Against ONNX Runtime in one run, interleaved: medians and ratios.
bench: build
	@python3 scripts/fetch_models.py
	@python3 bench/compare.py

format: deps
	@$(SOURCES) | xargs clang-format-19 -i

check-format: deps
	@$(SOURCES) | xargs clang-format-19 --dry-run -Werror

deps:
	@scripts/install_deps.sh
	@mkdir -p build

clean:
	rm -rf build

# The commands of this project. `make demo`, `make test` and `make test-all` install the Debian packages that they miss
# (with sudo where needed); the others expect them. `make BUILD=DIRECTORY` of demo, build and the suites builds there, and
# then the sources may be read-only.

JOBS ?= $(shell nproc)
BUILD ?= build
CRASH_SECONDS ?= 3
LONG_CRASH_SECONDS ?= 60
KILLS ?= 10000
IMAGES ?= 100000
STEPS ?= 1000000
SOAK_SECONDS ?= 3600
FUZZ_RUNS ?= 10000000
FUZZ_STORES ?= 100000

CTEST := ctest --no-tests=error --output-on-failure -j $(JOBS)
SUITES := tools/run_suites --build "$(BUILD)" --jobs $(JOBS)

.DEFAULT_GOAL := build
.PHONY: build demo demo-server kill-server loss-window bench-server compare-hits compare-loops measure-server test test-all check bench bench-quick bench-large bench-scaling bench-store bench-pools test-dax crash crash-long kill soak powercut store-differential fuzz format package test-package docs generated golden clean

## build: a release build in build/release, its programs in build/release/bin
build: build-release

## demo: kill a program while it writes, again and again, and lose nothing (ARGS=... are passed on)
demo: demo-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlast-demo
	@"$(BUILD)/release/bin/outlast-demo" $(ARGS)

## test: every kind of test, once: what to run before each commit; 13 minutes from a bare clone on two CPUs
test: test-dependencies
	$(SUITES) check test

## test-all: all of it: `test`; benchmarks; crashes, kills and mutants by g++, optimized; both sanitizers
test-all: test-dependencies
	$(SUITES) check test benchmarks suite asan tsan

## test-rest: what `test-all` has and `test` has not
test-rest: test-dependencies
	$(SUITES) $(ARGS) benchmarks suite asan tsan

## check: layers, orderings, words, lengths, links, quotes, quoted lines, walks, the comparison of stores; needs no build
check:
	tools/check_layers
	tools/check_pairs
	tools/check_text
	tools/check_quotes
	tools/check_walks
	tools/follow_lines --check
	python3 tools/make_comparison --check

## test-benchmarks, test-suite, test-asan, test-tsan: one suite of `make test-all`; test-dev, test-clang: more of them
test-benchmarks test-suite test-dev test-clang test-asan test-tsan: test-%:
	$(SUITES) $*

## test-arm64: cross-compile for ARM64 and run the tests under qemu-user
test-arm64: arm64-dependencies
	$(MAKE) build-arm64
	$(CTEST) --preset arm64

## test-dax: the suite's persistent part in guests with emulated persistent memory and disks that lose power,
## a quarter of an hour without KVM (ARGS='--only cuts')
test-dax: dax-dependencies
	cmake --preset dev >/dev/null
	cmake --build --preset dev -j $(JOBS) --target outlast dax_probe pool_test region_test relocation_test native_test
	tests/dax/run build/dev $(ARGS)

## demo-server: kills outlastd, memcached and Redis under load, and compares what they have afterwards; two minutes
demo-server: server-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd
	@tools/demo_server "$(BUILD)/release/bin/outlastd" $(ARGS)

## kill-server: outlastd is killed KILLS times in all modes that lose nothing, JOBS servers at a time; five minutes on two
## CPUs. Exits with 1 at the first loss and keeps its files (ARGS='--subject store --seed 7')
kill-server: server-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd
	@tools/kill_server "$(BUILD)/release/bin/outlastd" --kills $(KILLS) --jobs $(JOBS) \
	  --results "$(BUILD)/kill-server.jsonl" $(ARGS)

## loss-window: how much 200 kills remove on the usual port of a cache, without and with other load; four minutes
loss-window: server-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd
	@tools/loss_window "$(BUILD)/release/bin/outlastd" $(ARGS); quiet=$$?; \
	tools/loss_window "$(BUILD)/release/bin/outlastd" --load $(ARGS); exit $$((quiet | $$?))

## compare-hits: how often outlastd and memcached have an item, with the same limit of memory; two minutes
compare-hits: server-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd cache_replay
	@tools/compare_hits "$(BUILD)/release/bin/outlastd" "$(BUILD)/release/bin/cache_replay" $(ARGS)

## compare-loops: the loops of outlastd, which use Asio, beside one over epoll alone; some minutes
compare-loops: server-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd epoll_server
	@tools/compare_loops "$(BUILD)/release/bin/outlastd" "$(BUILD)/release/bin/epoll_server" $(ARGS)

## measure-server: memory under overwrites, the opening after a kill, and pauses, beside memcached and Redis; ten minutes
measure-server: server-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd
	@for what in memory opening pauses; do \
	  tools/measure_server $$what "$(BUILD)/release/bin/outlastd" $(ARGS) || exit 1; done

## bench-server: outlastd beside memcached and Redis, in turn; some minutes
bench-server: server-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd
	@tools/bench_server "$(BUILD)/release/bin/outlastd" $(ARGS)

## test-server-protocols: the server's protocols, without and with sockets, beside memcached and redis-server, which must be
## installed; minutes
test-server-protocols: test-dependencies
	cmake --preset test >/dev/null
	cmake --build --preset test -j $(JOBS) --target memcached_pipe resp_peer
	tests/server/memcached_differential --pipe build/test/tests/bin/memcached_pipe $(ARGS)
	tests/server/resp_differential build/test/tests/bin/resp_peer $(ARGS)
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd
	tests/server/memcached_differential --outlastd "$(BUILD)/release/bin/outlastd" --mode cache $(ARGS)
	tests/server/resp_differential "$(BUILD)/release/bin/outlastd" --outlastd store $(ARGS)

## test-server-clients: redis-py, pymemcache and python-binary-memcached, installed from PyPI into build/clients, drive
## outlastd; two minutes (ARGS='redis test_locks': one subject, and one of its tests)
test-server-clients: clients-dependencies
	@tools/build release "$(BUILD)/release" $(JOBS) outlastd
	@tests/server/clients/run "$(BUILD)/release/bin/outlastd" "$(BUILD)/clients" $(ARGS)

build-%:
	@tools/build $* "$(BUILD)/$*" $(JOBS)

## bench-quick: all that `make bench` does, cut short: minutes; the report lies in build/report-quick
bench-quick: bench-dependencies build-bench
	tools/measure --quick $(ARGS); failed=$$?; \
	  tools/report --results build/results-quick --output build/report-quick && exit $$failed

## bench: the figures of all papers and what others' stores do, an hour on two cores, and docs/results/index.html;
## what was measured before stays in build/results and is not measured again (ARGS=--redo: it is)
bench: bench-dependencies build-bench
	tools/measure $(ARGS); failed=$$?; tools/report && exit $$failed

## bench-store: the store beside LevelDB, RocksDB and LMDB, half an hour, 16 GiB of memory (ARGS=--quick: seconds)
bench-store: bench-dependencies
	cmake --preset release >/dev/null
	cmake --build --preset release -j $(JOBS) --target outlast-bench db_bench
	build/release/bin/outlast-bench --micro store $(ARGS)

## bench-pools: pools that grow: steps of growth, space after rounds of erasing, opening 1 TiB; ten minutes (ARGS=--quick)
bench-pools: bench-dependencies
	cmake --preset release >/dev/null
	cmake --build --preset release -j $(JOBS) --target outlast-bench db_bench
	build/release/bin/outlast-bench --micro pools $(ARGS)

## bench-large: the figures with 8 million keys and more, which join the report; an hour and 16 GiB of memory
bench-large: bench-dependencies build-bench
	tools/measure --large $(ARGS); failed=$$?; tools/report && exit $$failed

## bench-scaling: the figures with up to 16 threads, which join the report; minutes, for a machine with 16 cores
bench-scaling: bench-dependencies build-bench
	tools/measure --scaling $(ARGS); failed=$$?; tools/report && exit $$failed

## plot-PAPER: the figures of one paper, measured and drawn into build/plots (ARGS=--quick: in minutes)
plot-%: bench-dependencies build-bench
	mkdir -p build/plots
	build/bench/bin/outlast bench --json bench/figures/$*/*.toml $(ARGS) >build/plots/$*.jsonl
	tools/plot build/plots/$*.jsonl build/plots
	tools/plot --flushes build/plots/$*.jsonl build/plots

## crash: every structure under the policies that differ most, minutes; CRASH_SECONDS for each and each machine
crash: build-dev
	OUTLAST_CRASH_SECONDS=$(CRASH_SECONDS) $(CTEST) --preset dev -L '(^|\+)crash'

## crash-long: the same under every policy, for LONG_CRASH_SECONDS each, with fresh seeds, hours; adds its
## counts to docs/results/verification.md (CRASH_ARGS='--policy mirror --structure list': these alone)
crash-long: build-verify
	tools/crash_campaign --seconds $(LONG_CRASH_SECONDS) --jobs $(JOBS) $(CRASH_ARGS) build/verify/bin/outlast-verify \
	  docs/results/verification.md

## kill: real processes are killed while they run, KILLS times, and their pools judged
kill:
	cmake --preset dev >/dev/null
	cmake --build --preset dev -j $(JOBS) --target kill_campaign
	build/dev/tests/bin/kill_campaign --kills $(KILLS) --jobs $(JOBS) $(ARGS)

## soak: all families on one pool and a store beside it, SOAK_SECONDS in all, half of them on tmpfs and half on the disk of
## build/soak: what grows there? Draws build/soak/soak.svg (ARGS='--seed 17 --families store,sets')
soak:
	cmake --preset dev >/dev/null
	cmake --build --preset dev -j $(JOBS) --target outlast-soak
	mkdir -p build/soak
	@build/dev/tests/bin/outlast-soak --medium memory --folder /dev/shm --seconds $$(($(SOAK_SECONDS) / 2)) \
	  --records build/soak/memory.jsonl $(ARGS); memory=$$?; \
	build/dev/tests/bin/outlast-soak --medium disk --folder build/soak --seconds $$(($(SOAK_SECONDS) / 2)) \
	  --records build/soak/disk.jsonl $(ARGS); disk=$$?; \
	tools/plot_soak build/soak/soak.svg build/soak/memory.jsonl build/soak/disk.jsonl; \
	exit $$((memory > disk ? memory : disk))

## powercut: pool files lose power until IMAGES images were judged; seeds are fresh
powercut:
	cmake --preset dev >/dev/null
	cmake --build --preset dev -j $(JOBS) --target power_cut_campaign
	build/dev/tests/bin/power_cut_campaign --images $(IMAGES) $(ARGS)

## store-differential: STEPS random steps of a store beside LevelDB's and a map's, with kills and reopenings
store-differential:
	cmake --preset dev >/dev/null
	cmake --build --preset dev -j $(JOBS) --target store_differential
	build/dev/tests/bin/store_differential --steps $(STEPS) $(ARGS)

## fuzz: spoilt pool files, FUZZ_RUNS of them, and FUZZ_STORES stores, on all cores; exit status 1 and the input if one breaks
fuzz: fuzz-dependencies build-fuzz
	tests/fuzz/run build/fuzz pool $(FUZZ_RUNS) $(JOBS)
	tests/fuzz/run build/fuzz store $(FUZZ_STORES) $(JOBS)

## package: the Debian packages, in build/package
package: package-dependencies build-package
	cd build/package && cpack -G DEB

## test-package: installs them on a fresh Debian 12, where strangers' projects are built; as root, minutes
test-package: package
	tools/install-dependencies test-package
	tests/packaging/clean_debian build/package

## docs: the documentation as a site, build/docs/site, with the reference of the headers; checks every link
docs: docs-dependencies
	tools/build_docs build/docs

## generated: writes docs/catalogue.md, the manual, the completions, and the comparison of stores with its picture anew
generated:
	cmake --preset dev >/dev/null
	cmake --build --preset dev -j $(JOBS) --target outlast outlast-demo outlast-verify outlastd
	tools/make_catalogue build/dev/bin/outlast-verify
	tools/make_manual build/dev/bin/outlast
	tools/make_comparison

## golden: makes the pools of tests/layout/golden anew; before a release of a format only
golden:
	cmake --preset dev >/dev/null
	cmake --build --preset dev -j $(JOBS) --target make_golden
	rm -rf build/golden tests/layout/golden/*.pool.xz
	mkdir -p build/golden
	build/dev/tests/bin/make_golden build/golden
	python3 tests/layout/pack.py pack build/golden tests/layout/golden

## format: clang-format decides
format:
	git ls-files -z '*.hpp' '*.cpp' | xargs -0 clang-format-19 -i

clean:
	rm -rf build

%-dependencies:
	@tools/install-dependencies $*

.DEFAULT_GOAL := help
SHELL := /bin/bash

GO ?= go
# The tools that `make check` runs, by version; go fetches them as modules.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Those that `make release` runs: packages of Linux, bills of materials, signature.
NFPM ?= $(GO) run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
CYCLONEDX ?= $(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
MINISIGN ?= $(GO) run aead.dev/minisign/cmd/minisign@v0.3.0

# The race detector needs a C compiler; nothing else does.
CC_FOUND := $(shell command -v $${CC:-cc} 2>/dev/null)
ifneq ($(CC_FOUND),)
# The race detector is slow, so property tests try fewer cases; `make soak` tries many. At its end each process waits for what goroutines may
# still do: by default for a second, in each of the hundreds of processes that tests start.
# What the detector reports goes to files, for a process that a test kills takes its exit code and what it wrote with it.
TEST_ENV := CGO_ENABLED=1 RAPID_CHECKS=$${RAPID_CHECKS:-4} GORACE="$${GORACE:-atexit_sleep_ms=20} log_path=$$races/race"
# The driver is C translated to Go. SQLite itself, its C library and its allocator do their own locking and hold no Go memory, but took
# most of the time under the detector: they are compiled without it. Package modernc.org/sqlite, which passes memory to them, is
# checked like our code, except for the pointer checks that -race enables.
TEST_FLAGS := -race '-gcflags=modernc.org/...=-d=checkptr=0' '-gcflags=modernc.org/sqlite/lib=-race=false' \
	'-gcflags=modernc.org/libc/...=-race=false' '-gcflags=modernc.org/memory=-race=false'
endif

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z/-]*:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/openclawd
	CGO_ENABLED=0 $(GO) build -o bin/openclawd ./cmd/openclawd

# Platforms of a release. The same Go version and commit give the same bytes on every machine.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
DIST := dist

.PHONY: release
release: ## Make the packages of a release in dist: archives, .deb, .rpm, npm, SBOM, checksums (VERSION=1.2.3; MINISIGN_KEY=file signs, MINISIGN_PUBLIC_KEY=RW... is in install.sh)
	@rm -rf $(DIST) && mkdir -p $(DIST)/bin
	@set -e; for platform in $(PLATFORMS); do \
		os=$${platform%/*}; arch=$${platform#*/}; suffix=; [ $$os = windows ] && suffix=.exe || true; \
		echo "$$platform"; \
		CGO_ENABLED=0 GOFLAGS= GOOS=$$os GOARCH=$$arch GOAMD64=v1 GOARM64=v8.0 \
			$(GO) build -trimpath -buildvcs=true -ldflags='-s -w' -o $(DIST)/bin/openclawd-$$os-$$arch$$suffix ./cmd/openclawd; \
	done
	@CGO_ENABLED=0 $(GO) run ./packaging -dist $(DIST) -platforms '$(PLATFORMS)' $(if $(VERSION),-version $(VERSION)) -time "$$(git log -1 --format=%ct)" \
		-nfpm '$(NFPM)' -cyclonedx '$(CYCLONEDX)' -minisign '$(MINISIGN)' $(if $(MINISIGN_KEY),-key '$(MINISIGN_KEY)') $(if $(MINISIGN_PUBLIC_KEY),-public-key '$(MINISIGN_PUBLIC_KEY)')
	@cat $(DIST)/SHA256SUMS

# The packages of an earlier commit are those that it makes itself, with the lowest version.
RELEASE_HERE = $(MAKE) --no-print-directory release PLATFORMS=linux/amd64

.PHONY: old-packages
old-packages: ## Make the packages for linux/amd64 of an earlier commit, to upgrade from (OLD=commit DIST=directory)
	@test -n "$(OLD)" || { echo "OLD=commit names whose packages to make"; exit 2; }
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
		git clone --quiet --shared --no-checkout . "$$dir/source"; git -C "$$dir/source" checkout --quiet --detach "$$(git rev-parse '$(OLD)^{commit}')"; \
		$(RELEASE_HERE) -C "$$dir/source" DIST='$(abspath $(DIST))' VERSION=0.0.0-0

.PHONY: try-packages
try-packages: ## Install packages where nothing else is, time the first answer, upgrade from OLD=commit (needs root or SUDO=sudo, debootstrap, Node; ROOT=fresh Debian 12)
	@set -e; dir=$$(mktemp -d); trap '$(SUDO) rm -rf "$$dir"' EXIT; \
		$(RELEASE_HERE) DIST="$$dir/new"; \
		$(if $(OLD),$(MAKE) --no-print-directory old-packages DIST="$$dir/old";) \
		$(SUDO) packaging/try.sh "$$dir/new" $(if $(OLD),"$$dir/old")

# The documentation as pages that can be searched; VitePress is pinned by the lock file, and no other target needs it.
SITE_MODULES := docs/site/node_modules/.package-lock.json

$(SITE_MODULES): docs/site/package-lock.json
	npm ci --prefix docs/site --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: site
site: $(SITE_MODULES) ## Build the documentation in bin/site, with search and llms.txt, and check its links (needs Node 20.19; SITE_BASE=/path/)
	npm --prefix docs/site --silent run build
	node docs/site/check.mjs bin/site

# Most bytes of the stripped program for linux/amd64. What it is made of is in docs/performance.md. It uses the compiled packages of `make build`.
SIZE_LIMIT := 49800000

.PHONY: size
size: ## Check that the stripped program is within its limit, SIZE_LIMIT bytes
	@set -e; built=$$(mktemp); trap 'rm -f "$$built"' EXIT; \
		CGO_ENABLED=0 GOOS=linux GOARCH=amd64 $(GO) build -ldflags='-s -w' -o "$$built" ./cmd/openclawd; \
		bytes=$$(($$(wc -c < "$$built"))); echo "the stripped program has $$bytes bytes, limit $(SIZE_LIMIT)"; \
		[ $$bytes -le $(SIZE_LIMIT) ] || { echo "it is too large: see Size of the program in docs/performance.md"; exit 1; }

.PHONY: release-check
release-check: ## Build the release twice, with separate caches, and compare the bytes; then vet all platforms
	@set -e; again=$$(mktemp -d); trap 'chmod -R u+w "$$again"; rm -rf "$$again"' EXIT; \
		$(MAKE) --no-print-directory release; \
		GOCACHE="$$again/cache" $(MAKE) --no-print-directory release DIST="$$again/dist" > /dev/null; \
		diff -r --exclude='*.minisig' $(DIST) "$$again/dist" && echo "the same bytes twice"
	@set -e; for platform in $(PLATFORMS); do \
		echo "vet $$platform"; CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./...; \
	done

.PHONY: run
run: build ## Serve a sample team on 127.0.0.1:3847 and 18789 until Ctrl-C (ARGS="--gateway 127.0.0.1:0")
	@exec ./bin/openclawd serve --sample $(ARGS)

.PHONY: demo-discord demo-telegram demo-slack
demo-discord: ## Play a conversation of agents in a Discord thread, against a Discord server of its own: no key, no network (ARGS="--keep --api 127.0.0.1:42902")
demo-telegram: ## Likewise in topics of a Telegram group
demo-slack: ## Likewise in threads of Slack
demo-discord demo-telegram demo-slack: demo-%: build
	CGO_ENABLED=0 $(GO) build -o bin/demo ./cmd/demo
	@exec ./bin/demo -channel $* -openclawd ./bin/openclawd $(ARGS)

# The page in web/ is built with Node and committed in web/dist, so that building the program needs Go only.
NPM := npm --prefix web --silent
UI_MODULES := web/node_modules/.package-lock.json

$(UI_MODULES): web/package-lock.json
	PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --prefix web --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: ui
ui: $(UI_MODULES) ## Build the page: types of the API, checks, unit tests, web/dist (needs Node 20.19)
	$(NPM) run types
	$(NPM) run check
	$(NPM) run test
	$(NPM) run build

.PHONY: ui-check
ui-check: $(UI_MODULES) ## Check that web/dist is what web/src gives, format, budgets and licences of the page
	$(NPM) run format-check
	@set -e; built=$$(mktemp -d); trap 'rm -rf "$$built"' EXIT; \
		web/node_modules/.bin/openapi-typescript monitor/openapi.yaml --output "$$built/types.ts"; cmp "$$built/types.ts" web/src/lib/api/types.ts; rm "$$built/types.ts"; \
		$(NPM) run check; $(NPM) run test; \
		$(NPM) run build -- --outDir "$$built/dist" --logLevel warn; \
		$(NPM) run compare -- "$$built/dist"

.PHONY: ui-dev
ui-dev: $(UI_MODULES) ## Serve the page from its sources on 127.0.0.1:5173, with a running `openclawd serve` behind it
	$(NPM) run dev

# Tests named by GREP run without those that belong before them. T-PERF compares frames, so that nothing else runs beside it, and asks no
# server of the sample. With the name of a defect in UI_BREAK it is put back, and its test must turn red.
.PHONY: ui-test
ifdef UI_BREAK
ui-test: ui-break
else
ui-test: build $(UI_MODULES) ## Test the page in Chromium against bin/openclawd (GREP=pattern; OPENCLAWD_CHROMIUM=program)
	CGO_ENABLED=0 $(GO) build -o bin/demo ./cmd/demo
	cd web && node_modules/.bin/playwright test $(if $(GREP),--grep '$(GREP)',--grep-invert T-PERF)
	$(if $(GREP),,cd web && OPENCLAWD_UI_SAMPLE=none node_modules/.bin/playwright test --grep T-PERF)
endif

.PHONY: ui-images
ui-images: build $(UI_MODULES) ## Take the pictures of the README, docs/images, with the page as it is now
	cd web && UI_IMAGES=1 node_modules/.bin/playwright test --grep T-IMAGES

# A test that cannot fail proves nothing.
.PHONY: ui-break
ui-break: build $(UI_MODULES) ## Put defects of the first page back, and check that their tests turn red (UI_BREAK=name)
	cd web && node tests/breaks/run.js $(UI_BREAK)

.PHONY: ui-soak
ui-soak: build $(UI_MODULES) ## Visit all pages while 500 events a second come, 20 minutes: what the page holds must not grow (MINUTES=N; RATE=N)
	CGO_ENABLED=0 $(GO) build -o bin/openclawd-bench ./bench
	cd web && OPENCLAWD_UI_MINUTES=$(or $(MINUTES),20) $(if $(RATE),OPENCLAWD_UI_RATE=$(RATE)) \
		node_modules/.bin/playwright test --config bench/soak.config.ts

.PHONY: ui-big
ui-big: build ## Fill DIR with a team and a log of 1,000,000 events, to open the page over it (DIR=directory; EVENTS=N)
	@test -n "$(DIR)" || { echo "usage: make ui-big DIR=directory, which must not exist or be empty"; exit 2; }
	CGO_ENABLED=0 $(GO) build -o bin/openclawd-bench ./bench
	./bin/openclawd-bench fill --out "$(DIR)" --events $(or $(EVENTS),1000000)
	@echo "open the page over it: bin/openclawd serve --follow --state-dir $(DIR)"

.PHONY: ui-bench
ui-bench: build $(UI_MODULES) ## Measure the page in Chromium, 10 minutes (GREP=pattern; EVENTS=N in the big log; JSON=1)
	CGO_ENABLED=0 $(GO) build -o bin/openclawd-bench ./bench
	cd web && $(if $(EVENTS),OPENCLAWD_UI_EVENTS=$(EVENTS)) $(if $(JSON),OPENCLAWD_UI_BENCH=json) \
		node_modules/.bin/playwright test --config bench/playwright.config.ts $(if $(GREP),--grep '$(GREP)')

# internal/testscale decides how much the tests do: small amounts, or the full ones with the build tag full. Many tests wait more than
# they compute, so more of them run at a time than there are cores. `make lint` vets everything; -timeout only ends hanging tests. Tests
# keep little of what they allocate: with a higher GOGC less of it is searched for what is in use, by the compiler too. Their files are in
# memory where .ci/temporary finds room for them, and where TMPDIR is otherwise.
TEST = $(shell .ci/temporary) GOGC=$${GOGC:-400} $(GO) test -p 4 -parallel 4 -vet=off -timeout 40m

# The packages whose tests take longest, here and with full amounts, in this order. go test begins with the packages that are named first:
# no core waits at the end for one of these.
LONGEST := ./server ./cmd/openclawd ./monitor ./eventstore/sqlite ./projections ./services/continuer ./eventstore/sqlite/console \
	./replay/asof ./agent/runner ./slack ./telegram ./discord ./services/messenger ./services/scheduler
longest_first = $(strip $(foreach p,$(LONGEST),$(filter $(p),$(1))) $(filter-out $(LONGEST),$(1)))

.PHONY: test
test: ## Run the tests of all packages; unchanged packages come from Go's test cache
	CGO_ENABLED=0 $(TEST) $(LONGEST) ./...

# The directories with tests and a Go file in which an expression matches; TestSelectionOfTheMakefile compares them with the source.
packages_with = $(shell grep -rlE --include='*.go' --exclude-dir=testdata --exclude-dir=node_modules $(1) . | \
	xargs -n1 dirname | sort -u | while read -r dir; do ls $$dir/*_test.go > /dev/null 2>&1 && echo $$dir; done)

# Packages that start goroutines, use channels or locks, or have tests that do. The others compute or read tables in the calling goroutine,
# at most once for all (sync.OnceValue), and are exercised by the tests of these packages too. The root only has tests that read source files.
# The commands in cmd/openclawd run whole programs, whose goroutines are those of these packages.
CONCURRENT = $(filter-out . ./cmd/openclawd,$(call packages_with,'^[[:space:]]*go [a-z]|[.]Go[^a-zA-Z ]|<-|sync[.][^O]|"sync/atomic"'))

.PHONY: test-race
test-race: ## Run the tests of concurrent packages with the race detector, in random order (CONCURRENT=packages RUN=pattern)
	@$(if $(CC_FOUND),,echo "error: the race detector needs a C compiler: install gcc or clang; make test needs none" >&2; exit 1)
	@set -e; races=$$(mktemp -d); trap 'rm -rf "$$races"' EXIT; failed=0; \
		$(TEST_ENV) $(TEST) $(TEST_FLAGS) -shuffle=on $(if $(RUN),-run '$(RUN)') $(call longest_first,$(CONCURRENT)) || failed=1; \
		for report in "$$races"/race.*; do [ ! -s "$$report" ] || { cat "$$report"; failed=1; }; done; exit $$failed

.PHONY: test-full
test-full: ## Run all tests with full amounts: all scripts, scenarios, kills and long properties; those without come from the cache of `make test`
	CGO_ENABLED=0 $(TEST) -tags full $(LONGEST) ./...

# Prints its input and fails if no line matches: go test succeeds where a name matches no test.
requires = awk '{ print; fflush() } /$(1)/ { n++ } END { if (!n) { print "no line matches $(1)"; exit 1 } }'

.PHONY: bench
bench: build ## Measure speed and memory, each against its own baseline (ARGS="append lookup --json")
	CGO_ENABLED=0 $(GO) build -o bin/openclawd-bench ./bench
	./bin/openclawd-bench $(ARGS)
	set -o pipefail; CGO_ENABLED=0 $(GO) test -run '^$$' -bench '^Benchmark(Discord|Telegram|Slack)' -benchtime 1x -timeout 30m ./server | \
		$(call requires,^BenchmarkSlack)

# In commits up to 1b966c4 the benchmarks are a command of openclawd itself.
.PHONY: bench-compare
bench-compare: build ## Measure another commit and the working tree by turns (REF=commit ARGS="append rest --events 500000" ROUNDS=2)
	@test -n "$(REF)" || { echo "REF=commit names what to compare with"; exit 2; }
	CGO_ENABLED=0 $(GO) build -o bin/openclawd-bench ./bench
	@set -e -o pipefail; old=$$(mktemp -d); trap 'rm -rf "$$old"' EXIT; \
		git archive --format=tar '$(REF)' | tar -x -C "$$old"; \
		cd "$$old"; CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o bin/openclawd ./cmd/openclawd; \
		if [ -d bench ]; then CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o bin/openclawd-bench ./bench; fi; \
		cd '$(CURDIR)'; ./bin/openclawd-bench compare --old "$$old/bin" --rounds $(or $(ROUNDS),2) $(ARGS)

# Programs that others wrote, as they are on npm: clients against our servers for tests, MCP servers, and the suite for MCP clients with
# the Node that it needs.
CLIENTS := grammy@1.46.0 @slack/bolt@5.1.0 discord.js@14.28.1
MCP_PACKAGES := node@24.21.0 $(addprefix @modelcontextprotocol/,server-everything@2026.8.31 server-filesystem@2026.8.31 conformance@0.1.16) \
	conformance-next@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12
OPENCLAWS := openclaw@2026.2.26 openclaw-newest@npm:openclaw@2026.9.6
BROWSER_PACKAGE := playwright-core@1.65.1

.PHONY: clients
clients: ## Let unmodified programs from npm, openclaw among them, use our servers, and agents their MCP servers; needs Node and Chromium
	@set -e; modules=$$(mktemp -d); trap 'rm -rf "$$modules"' EXIT; \
		npm install --prefix "$$modules" --silent --ignore-scripts --no-audit --no-fund $(CLIENTS); \
		CGO_ENABLED=0 MODULES="$$modules" $(GO) test -tags clients -run 'TestGrammy|TestBolt|TestDiscordJS' -count=1 \
			./telegram/telegramtest ./slack/slacktest ./discord/discordtest; \
		npm install --prefix "$$modules" --silent --no-audit --no-fund $(MCP_PACKAGES); \
		CGO_ENABLED=0 MODULES="$$modules" $(GO) test -tags clients -run 'TestConformance|TestNPMServers' -count=1 ./mcp ./server; \
		rm -rf "$$modules"/*; printf '{"overrides": {"libsignal": "file:%s/server/testdata/libsignal"}}' '$(CURDIR)' > "$$modules/package.json"; \
		npm install --prefix "$$modules" --silent --no-audit --no-fund $(firstword $(MCP_PACKAGES)); \
		npm install --prefix "$$modules" --silent --ignore-scripts --no-audit --no-fund $(OPENCLAWS) $(BROWSER_PACKAGE); \
		CGO_ENABLED=0 MODULES="$$modules" $(GO) test -tags clients -run 'TestOpenClawCommands|TestControlUIShowsChannels' -count=1 ./server

# OpenClaw as it is on npm. One of its packages is on no registry, and is not needed.
MIGRATED_OPENCLAWS := $(foreach version,2026.2.26 2026.5.12 2026.9.6,openclaw-$(version)@npm:openclaw@$(version))

.PHONY: clients-openclaw
clients-openclaw: ## Migrate what packages of OpenClaw from npm have written, and back, and compare what their client shows, half an hour; needs Node
	@set -e; modules=$$(mktemp -d); trap 'rm -rf "$$modules"' EXIT; \
		echo '{"overrides": {"libsignal": "npm:is-number@7.0.0"}}' > "$$modules/package.json"; \
		npm install --prefix "$$modules" --silent --ignore-scripts --no-audit --no-fund $(MIGRATED_OPENCLAWS); \
		npm install --prefix "$$modules" --silent --no-audit --no-fund node@24.21.0; \
		CGO_ENABLED=0 MODULES="$$modules" $(GO) test -tags clients -run TestOpenClawMovesInAndBack -count=1 -timeout 90m ./cmd/openclawd

.PHONY: cron-oracle
cron-oracle: ## Compare due times with croner 11 from npm (COUNT=100000 SEED=1); needs Node
	@set -e; modules=$$(mktemp -d); trap 'rm -rf "$$modules"' EXIT; \
		npm install --prefix "$$modules" --silent --ignore-scripts --no-audit --no-fund croner@11.0.1; \
		CGO_ENABLED=0 MODULES="$$modules" $(GO) test -tags oracle -run TestCronerOracle -count=1 -timeout 60m -v ./coordination/schedule

.PHONY: crash
crash: ## Kill stores at random points, 200 rounds (OPENCLAWD_CRASH_ROUNDS=N)
	set -o pipefail; CGO_ENABLED=0 OPENCLAWD_CRASH_ROUNDS=$${OPENCLAWD_CRASH_ROUNDS:-200} $(GO) test -tags full -run Crash -count=1 -timeout 60m -v ./... | \
		$(call requires,^--- PASS: .*Crash)

# Tests that kill whole programs, and the channels' suite, whose kills are ends of the program at any moment.
.PHONY: kills
kills: ## Kill the program around calls, commands, files, posts, approvals, hooks and due times, 200 rounds each (OPENCLAWD_CRASH_ROUNDS=N)
	set -o pipefail; CGO_ENABLED=0 OPENCLAWD_CRASH_ROUNDS=$${OPENCLAWD_CRASH_ROUNDS:-200} $(TEST) -tags full -count=1 -timeout 120m -v \
		-run 'TestKills|TestKilledAround|TestCrashWhileBotsSpeak|IsAChannel/(kills|files|storm)' \
		./server ./services/scheduler ./discord ./slack ./telegram | \
		$(call requires,^--- PASS: TestKills) | $(call requires,^--- PASS: TestKilledAround) | $(call requires,^--- PASS: TestCrashWhileBotsSpeak) | \
		$(call requires,--- PASS: Test.*IsAChannel.*kills_lose_nothing)

.PHONY: soak
soak: ## Run the long tests, without the race detector
	CGO_ENABLED=0 RAPID_CHECKS=$${RAPID_CHECKS:-1000} $(GO) test -tags 'full soak' -count=1 -timeout 120m ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZTIME=20s)
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "== $$package $$target"; \
			CGO_ENABLED=0 $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $${FUZZTIME:-20s} $$package; \
		done; \
	done

# Inputs of testdata/fuzz are tried by every test run.
.PHONY: fuzz-keep
fuzz-keep: ## Keep inputs that fuzzing found in testdata/fuzz: the smallest ones, until a target has KEEP=12
	@set -e; found="$$($(GO) env GOCACHE)/fuzz/$$($(GO) list -m)"; \
		find "$$found" -type d -name 'Fuzz*' | sort | while read -r from; do \
			package=".$$(dirname "$${from#"$$found"}")"; target=$${from##*/}; into="$$package/testdata/fuzz/$$target"; \
			grep -qsw "func $$target" "$$package"/*_test.go || continue; \
			mkdir -p "$$into"; \
			ls -Sr "$$from" | while read -r input; do \
				[ "$$(ls "$$into" | wc -l)" -lt "$(or $(KEEP),12)" ] || break; cp -n "$$from/$$input" "$$into/$$input"; \
			done; \
		done

# Where the database cannot be reached, it is said and no failure: that is no fault of ours.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in the code that the program calls (GOVULNDB=address of a database)
	@db=$${GOVULNDB:-https://vuln.go.dev}; \
		if curl --silent --fail --max-time 20 --output /dev/null "$$db/index/db.json"; then \
			CGO_ENABLED=0 $(GO) run $(GOVULNCHECK) -db "$$db" ./cmd/openclawd; \
		else \
			printf '!!!\n!!! NOT RUN: govulncheck, because %s cannot be reached\n!!!\n' "$$db"; \
		fi

.PHONY: lint
lint: ## Check format, vet, staticcheck and the architecture tests
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
		if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	CGO_ENABLED=0 $(GO) vet ./...
	$(GO) mod verify
	CGO_ENABLED=0 GOGC=$${GOGC:-200} $(GO) run $(STATICCHECK) ./...
	CGO_ENABLED=0 $(TEST) .

.PHONY: check
check: lint size test-race test-full ## Run everything that must pass before a merge

.PHONY: clean
clean: ## Remove build output
	rm -rf bin $(DIST)

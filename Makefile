.DEFAULT_GOAL := help
SHELL := /bin/bash

GO ?= go
# The tools that `make check` runs, by version; go fetches them as modules.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The race detector needs a C compiler; nothing else does.
CC_FOUND := $(shell command -v $${CC:-cc} 2>/dev/null)
ifneq ($(CC_FOUND),)
# Everything is slower under the race detector, so properties are tried on fewer cases; `make soak` tries many.
# Every fresh log reads its migrations into buffers of 4 MiB, which the detector makes dear to clear and to collect: GOGC keeps them for longer,
# and takes a quarter off.
TEST_ENV := CGO_ENABLED=1 RAPID_CHECKS=$${RAPID_CHECKS:-4} GOGC=$${GOGC:-200}
# The driver is C made into Go. The detector has nothing to look for in SQLite itself, its C library and its allocator, which lock for
# themselves and hold no memory of Go's, and took most of the time there: they are compiled without it. What hands memory to them, package
# modernc.org/sqlite, is watched like our code, but for the pointer checks that -race switches on.
TEST_FLAGS := -race '-gcflags=modernc.org/...=-d=checkptr=0' '-gcflags=modernc.org/sqlite/lib=-race=false' \
	'-gcflags=modernc.org/libc/...=-race=false' '-gcflags=modernc.org/memory=-race=false'
else
TEST_ENV := CGO_ENABLED=0
endif
# Scripts and scenarios start hundreds of processes, and under the race detector each takes a second to begin; the tests that look for races keep it.
SCRIPTS := ^(TestScripts|TestScenario.*)$$
# These fold one log many times, one after the other, and compare whole tables, with what was recorded or with one another. The detector finds
# nothing in that which it does not find in the tests of rebuilds beside appends; without it there is time for more and longer histories.
TABLES := ^(TestGoldenLogsGiveTheSameTables|TestTablesDependOnTheLogAlone|TestRebuildReadsEveryPage|TestRebuiltTablesKeepTheirViewsAndIndexes|TestFoldGivesTheTablesOfALogThatWasStoppedThere|TestFoldGoesOn)$$
# Likewise in other packages: whole states and all answers of an API, again and again; and statements that have to end in time.
STATES := ^(TestStepsThroughStoriesGoBothWays|TestMachineStandsWhereTheLogStood|TestStepShowsWhatItChanged|TestStateIsWhatALogThatWasStoppedThereHad|TestStateOfAnArchivedLog|TestAsOfAnswersWhatWasAnsweredThen|TestArchivedLogIsReadAsBefore|TestAnswersFromArchivesAreTheSame|TestAttacksChangeNothing|TestStatementsEndInTime|TestWorkWithinARowEndsInTime)$$
STATES_IN := ./projections/journal ./cmd/openclawd/step ./cmd/openclawd/past ./cmd/openclawd/database ./monitor ./eventstore/sqlite/console

.PHONY: help
help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z][a-z/-]*:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/openclawd
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/openclawd ./cmd/openclawd

# What a release is built for; each gives the same bytes on every machine with the same Go and the same commit.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
DIST := dist

.PHONY: release
release: ## Build dist/openclawd-<os>-<arch> for linux, darwin and windows, with SHA256SUMS
	@rm -rf $(DIST) && mkdir -p $(DIST)
	@set -e; for platform in $(PLATFORMS); do \
		os=$${platform%/*}; arch=$${platform#*/}; suffix=; [ $$os = windows ] && suffix=.exe || true; \
		echo "$$platform"; \
		CGO_ENABLED=0 GOFLAGS= GOOS=$$os GOARCH=$$arch GOAMD64=v1 GOARM64=v8.0 \
			$(GO) build -trimpath -buildvcs=true -ldflags='-s -w' -o $(DIST)/openclawd-$$os-$$arch$$suffix ./cmd/openclawd; \
	done
	@cd $(DIST) && { sha256sum openclawd-* 2>/dev/null || shasum -a 256 openclawd-*; } > SHA256SUMS && cat SHA256SUMS

.PHONY: release-check
release-check: ## Build the release twice, with caches apart, and compare the bytes; then see that it compiles and vets everywhere
	@set -e; again=$$(mktemp -d); trap 'chmod -R u+w "$$again"; rm -rf "$$again"' EXIT; \
		$(MAKE) --no-print-directory release; \
		GOCACHE="$$again/cache" $(MAKE) --no-print-directory release DIST="$$again/dist" > /dev/null; \
		diff -r $(DIST) "$$again/dist" && echo "the same bytes twice"
	@set -e; for platform in $(PLATFORMS); do \
		echo "vet $$platform"; CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./...; \
	done

.PHONY: run
run: build ## Serve sample data and its agents on 127.0.0.1:3847 and 18789 (Ctrl-C ends it; ARGS="--gateway 127.0.0.1:0")
	@exec ./bin/openclawd serve --sample $(ARGS)

.PHONY: demo-discord
demo-discord: build ## Play how agents work together in a Discord thread, in a Discord of its own: no key, no network
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/demo-discord ./cmd/demo-discord
	@./bin/demo-discord -openclawd ./bin/openclawd

.PHONY: test
test: ## Run vet and all tests, with the race detector where there is a C compiler
	$(GO) vet ./...
	$(TEST_ENV) $(GO) test $(TEST_FLAGS) -shuffle=on -timeout 40m -skip '$(SCRIPTS)|$(TABLES)|$(STATES)' ./...
	CGO_ENABLED=0 $(GO) test -trimpath -timeout 40m -run '$(SCRIPTS)' ./cmd/openclawd
	CGO_ENABLED=0 $(GO) test -timeout 40m -run '$(TABLES)' ./projections -rapid.checks=8
	CGO_ENABLED=0 $(GO) test -timeout 40m -run '$(STATES)' $(STATES_IN)

.PHONY: bench
bench: build ## Measure speed and memory, each against its own baseline
	./bin/openclawd bench
	CGO_ENABLED=0 $(GO) test -run '^$$' -bench '^BenchmarkDiscord' -benchtime 1x -timeout 30m ./cmd/openclawd/server

.PHONY: crash
crash: ## Kill stores at random points, 200 rounds (OPENCLAWD_CRASH_ROUNDS=N)
	CGO_ENABLED=0 OPENCLAWD_CRASH_ROUNDS=$${OPENCLAWD_CRASH_ROUNDS:-200} $(GO) test -run Crash -count=1 -timeout 60m -v ./...

.PHONY: soak
soak: ## Run the long tests, without the race detector
	CGO_ENABLED=0 RAPID_CHECKS=$${RAPID_CHECKS:-1000} $(GO) test -tags soak -count=1 -timeout 120m ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZTIME=20s)
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "== $$package $$target"; \
			CGO_ENABLED=0 $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $${FUZZTIME:-20s} $$package; \
		done; \
	done

.PHONY: lint
lint: ## Check format, vet, staticcheck and the laws of the repository
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
		if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) mod verify
	CGO_ENABLED=0 $(GO) run $(STATICCHECK) ./...
	CGO_ENABLED=0 $(GO) test -count=1 .

.PHONY: check
check: lint test ## Everything that has to pass before a change goes in

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin $(DIST)

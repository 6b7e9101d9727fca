# Everything a contributor runs. Needs Go 1.26 and git; `make help` lists it.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

GO       ?= go
COUNT    ?= 6      # of each benchmark; benchstat wants six or more
BENCH    ?= .      # benchmarks to run
BENCHTIME ?= 1s
FUZZTIME ?= 30s    # for each fuzz target
RUNFLAGS ?=        # handed to seedbed run
TESTFLAGS ?=       # handed to go test

tools := .ci/bin
out   := out

.PHONY: build generate run test planted provingground mutants test-real test-kubectl score testenv-all lint fmt bench load fuzz fidelity picture record-openapi clean help FORCE

build: ## Build all binaries into bin/ (the default)
	$(GO) build -trimpath -o bin/ ./cmd/...

generate: $(tools)/controller-gen ## Generate the manifests and methods of our APIs anew
	$(tools)/controller-gen object crd:crdVersions=v1 paths=./core/encryption/v1alpha1 \
		output:crd:dir=core/encryption/v1alpha1/crds output:object:dir=core/encryption/v1alpha1

run: build ## Run the built-in scenario library on many seeds (under 3 minutes)
	bin/seedbed run $(RUNFLAGS)

# The checks read files outside their module, which the test cache does not
# know: hence -count=1.
test: $(tools)/gotestsum ## Run all tests
	cd .ci/checks && ../bin/gotestsum --format pkgname-and-test-fails -- -count=1 $(TESTFLAGS) ./determinism ./tidy
	$(tools)/gotestsum --format pkgname-and-test-fails -- $(TESTFLAGS) ./...

# The programs are built once, into the user's cache folder.
test-real: $(tools)/gotestsum ## Run the tests that need a real kube-apiserver, which the first time is built (10 minutes on two cores)
	$(GO) run ./realmode/testenv/cmd/testenv build
	SEEDBED_TEST_REAL=1 $(tools)/gotestsum --format pkgname-and-test-fails -- -count=1 -timeout 30m $(TESTFLAGS) ./realmode/testenv/... ./realmode/home ./realmode/kube ./cmd/seedbed-home ./cmd/seedbed-kms
	SEEDBED_TEST_REAL=1 $(tools)/gotestsum --format pkgname-and-test-fails -- -count=1 -timeout 30m $(TESTFLAGS) -run '^Test(Kubectl|Requests|ClusterExploreOnARealServer)$$' ./cmd/seedbed

planted: ## Plant the bugs that take minutes to catch, in the cloak, encryption, its plugin and its stand-ins
	SEEDBED_SEEDS=1 $(GO) test -count=1 -timeout 60m -run PlantedBugs -v ./core/cloak ./core/encryption ./realmode/kms ./scenarios/cloak ./scenarios/encryption
	cd fakes/apiserver/encryption/conformance && $(GO) test -count=1 -timeout 30m ./...
	cd fakes/nri/conformance && $(GO) test -count=1 ./...

MASTERS ?= 10    # searches of each bug of the proving ground in each way
RUNS    ?= 160   # of each such search; those of the default mix may take a minute
TWINS   ?= 1000  # histories in which each repaired twin has to hold

provingground: ## Look for public bugs in every way and write the tables of scenarios/provingground (under 30 minutes; MASTERS, RUNS, TWINS)
	$(GO) run ./scenarios/provingground/measure -masters $(strip $(MASTERS)) -runs $(strip $(RUNS)) -twins $(strip $(TWINS)) \
		-commit "$$(git describe --always --dirty --exclude '*')" -write scenarios/provingground/README.md

TARGETS ?= provingground,gossipkeys  # packages whose mutants are hunted

mutants: ## Break packages in every small way, say how much of it oracles see, and hold the rest against survivors.txt (nightly; TARGETS)
	$(GO) run ./scenarios/mutation/measure -targets "$(strip $(TARGETS))"

test-kubectl: ## The part of test-real that is a long kubectl session, held against ours as well
	$(GO) run ./realmode/testenv/cmd/testenv build
	SEEDBED_TEST_REAL=1 $(GO) test -count=1 -timeout 30m -run '^TestKubectl$$' -v ./cmd/seedbed

testenv-all: ## Build every program of a real cluster, up to kubelet and containerd
	$(GO) run ./realmode/testenv/cmd/testenv build all

score: ## Count the recorded steps answered right, the fakes of others beside ours
	$(GO) test -count=1 -run '^TestScore$$' -v ./fakes/apiserver/fidelity

lint: $(tools)/golangci-lint $(tools)/seedbedvet ## Check style, layers and determinism, and that the checks can fail
	$(tools)/golangci-lint run --allow-parallel-runners ./...
	cd .ci/checks && ../bin/golangci-lint run --allow-parallel-runners ./...
	$(GO) vet -vettool=$(CURDIR)/$(tools)/seedbedvet ./...
	cd .ci/checks && $(GO) test -count=1 ./layers

fmt: $(tools)/golangci-lint ## Format all Go files
	$(tools)/golangci-lint fmt

bench: $(tools)/benchstat ## Run all benchmarks, peers beside ours (COUNT, BENCH, BENCHTIME); result in out/bench.txt
	@mkdir -p $(out)
	$(GO) test -run '^$$' -bench '$(strip $(BENCH))' -benchmem -benchtime $(strip $(BENCHTIME)) -count $(strip $(COUNT)) ./... \
		| grep --line-buffered -v -e 'no test files' -e '^PASS$$' | tee $(out)/bench.txt
	$(tools)/benchstat $(out)/bench.txt
	cd .ci/checks && $(GO) run ./cmd/benchtargets <../../$(out)/bench.txt

load: ## Hold 10,000 pods and 200 watches, seedbed serve beside a real kube-apiserver
	SEEDBED_LOAD=1 $(GO) test -count=1 -timeout 30m -run '^TestLoad$$' -v ./cmd/seedbed

fuzz: ## Fuzz every native fuzz target for FUZZTIME each
	.ci/fuzz $(strip $(FUZZTIME))

rotations := scenarios/gossipkeys

picture: build ## Draw the runs in the README anew (.github/run.svg)
	@mkdir -p $(out)
	bin/seedbed run $(rotations)/17-rotation-without-gate.yaml --seed 0 --trace $(out)/by-hand.jsonl
	bin/seedbed run $(rotations)/16-safe-rotation.yaml --seed 0 --trace $(out)/gated.jsonl
	cd .ci/checks && $(GO) run ./cmd/runpicture \
		"An operator rotates the key by hand and does not wait for the nodes=../../$(out)/by-hand.jsonl" \
		"Seedbed's rotation on the same cluster: each step waits until every node reports the one before=../../$(out)/gated.jsonl" \
		>../../$(out)/run.svg
	mv $(out)/run.svg .github/run.svg

record-openapi: ## Record the OpenAPI documents of a real API server anew (URL, TOKEN)
	$(GO) test ./fakes/apiserver/rest/openapi -count=1 -v -run 'TestRecord|TestVersion2' -args -record $(URL) -token $(TOKEN)

N    ?= 100    # sequences of random calls
SEED ?=        # of the first; a fresh one, which is printed, if empty

fidelity: build ## Make N sequences of random calls on the fake and a real API server, and compare (SEED)
	bin/seedbed fidelity random --sequences $(strip $(N)) $(if $(strip $(SEED)),--seed $(strip $(SEED)))

clean: ## Remove everything that was built
	rm -rf bin $(tools) $(out)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Tools of others, pinned by .ci/tools/go.mod.
pinned := cd .ci/tools && $(GO) build -trimpath -ldflags='-s -w' -o ../bin/

$(tools)/golangci-lint: .ci/tools/go.mod .ci/tools/go.sum
	$(pinned) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(tools)/gotestsum: .ci/tools/go.mod .ci/tools/go.sum
	$(pinned) gotest.tools/gotestsum

$(tools)/benchstat: .ci/tools/go.mod .ci/tools/go.sum
	$(pinned) golang.org/x/perf/cmd/benchstat

$(tools)/controller-gen: .ci/generators/go.mod .ci/generators/go.sum
	cd .ci/generators && $(GO) build -trimpath -ldflags='-s -w' -o ../bin/ sigs.k8s.io/controller-tools/cmd/controller-gen

# Our own; the go command knows whether it is up to date.
$(tools)/seedbedvet: FORCE
	cd .ci/checks && $(GO) build -trimpath -o ../bin/ ./cmd/seedbedvet

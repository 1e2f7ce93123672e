//go:build !race

package projections_test

// propertyChecks is how many histories a property test tries unless -rapid.checks says otherwise.
const propertyChecks = "40"

// crashLogSize is how many events a log of the crash scenarios gets before the next is begun, so that checking stays quick.
const crashLogSize = 600

// crashRounds is how often each crash scenario is killed; 0: as often as the harness does.
const crashRounds = 0

// loadEvents is how many events are appended beside rebuilds.
const loadEvents = 1_200

//go:build race

package projections_test

// propertyChecks is how many histories a property test tries unless -rapid.checks says otherwise.
const propertyChecks = "3"

// crashLogSize is how many events a log of the crash scenarios gets before the next is begun, so that checking stays quick.
const crashLogSize = 100

// crashRounds is how often each crash scenario is killed: a round takes many times longer here, and the detector looks for other faults.
const crashRounds = 4

// loadEvents is how many events are appended beside rebuilds, each of which comes to all of them again.
const loadEvents = 400

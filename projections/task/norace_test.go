//go:build !race

package task_test

// propertyChecks is how many histories a property test tries unless -rapid.checks says otherwise.
const propertyChecks = "30"

// eachAnew says whether each single history is made anew too. Under the race detector that takes minutes; there property tests alone do it.
const eachAnew = true

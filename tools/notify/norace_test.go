//go:build !race

package notify_test

// propertyChecks is how many histories a property test tries unless -rapid.checks says otherwise.
const propertyChecks = "20"

//go:build !race

package compare_test

// propertyChecks is how many random files a property test tries unless -rapid.checks says otherwise.
const propertyChecks = "60"

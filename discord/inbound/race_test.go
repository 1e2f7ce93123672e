//go:build race

package inbound_test

// propertyChecks is how many storms a property test tries unless -rapid.checks says otherwise.
const propertyChecks = "5"

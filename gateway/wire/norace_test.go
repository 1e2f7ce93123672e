//go:build !race

package wire_test

// manyClients connect at once.
const manyClients = 2_000

// attempts are how often a race between two things is tried.
const attempts = 100

// visits are how often clients come in any order.
const visits = 400

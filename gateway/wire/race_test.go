//go:build race

package wire_test

// manyClients connect at once.
const manyClients = 300

// attempts are how often a race between two things is tried.
const attempts = 20

// visits are how often clients come in any order.
const visits = 60

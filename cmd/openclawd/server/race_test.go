//go:build race

package server

// talkRounds is how often the server is killed while clients talk, unless the environment says otherwise.
const talkRounds = 2

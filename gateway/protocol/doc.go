// Package protocol implements the OpenClaw gateway protocol, versions 3 and 4: frames, errors, the handshake, and the
// schemas of method parameters. It does no I/O. Real clients silently drop a frame with an unexpected member, so all
// frames are built here.
//
// It guarantees:
//
//   - A written frame matches the closed schema that clients check: UTF-8, no null for an optional member, errors with code and message.
//     Values that cannot be encoded this way are errors.
//   - A frame that is read is a request, invalid JSON, or is answered with an error in the original's words. Depth, number of values,
//     length of names and number of reported faults are bounded.
//   - Parameters are validated like the original does, with its words in its order. Members of protocol 4 are always allowed.
//   - Texts and codes of refusals are those of the client's version. They contain no secrets.
//   - Secrets, nonces and tokens are compared in constant time.
package protocol

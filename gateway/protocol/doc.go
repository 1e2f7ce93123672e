// Package protocol is the OpenClaw gateway protocol, versions 3 and 4: frames, errors, the handshake, and what the parameters of each
// method may be. It does no I/O. The real clients drop a frame that has one member too many without a word, so frames are made here and
// nowhere else.
//
// It promises:
//
//   - A frame that is written fits the closed shape that clients check, whatever it is made of: UTF-8, no null where a member is optional,
//     an error with code and message. What cannot be such a frame is an error.
//   - A frame that is read is a request, or there is an answer to it in the original's words, or it is no JSON. It is bounded in depth, in
//     values and in names, and so is what is told of its faults.
//   - Parameters are judged as the original judges them, with its words in its order. What only protocol 4 has may always be there.
//   - Texts and codes of refusals are those of the client's version. No secret of a client is in them.
//   - Secrets, nonces and tokens are compared in constant time.
package protocol

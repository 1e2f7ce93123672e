// Package push tells WebSocket clients what happens. It is the only place that knows the WebSocket library.
//
// It promises:
//
//   - A client is told each event after the place where it began, once and in the order of the log, whether it follows or catches up.
//     Messages beside the log go to whoever is connected; nobody gets them later.
//   - A page of the log is read once and a frame encoded once, however many clients follow. Nothing is held open in the log while a
//     frame is written.
//   - Nobody waits for a client. What waits for one is bounded, and a client beyond that is closed with the place where it can go on.
//     One that catches up reads the log at its own pace, a page at a time; a huge page is there once for all who are being told it.
//     Only a burst of more than one page is told in steps, so that it costs no client that reads its place; one that does not read can
//     delay it by a fraction of a second, once.
//   - What a client says is read and forgotten. One that leaves pings unanswered is cut off.
//   - When Run ends, every connection does, each with the place where it can go on.
//   - The place where a client can go on is the end of a page. One that has been begun is told whole before the goodbye, so that nothing is
//     left out there and nothing comes twice.
package push

// Package push sends events to WebSocket clients. Only this package uses the WebSocket library.
//
// It guarantees:
//
//   - A client receives each event after its start position once and in log order, both live and while catching up. Messages beside the
//     log go to connected clients only and are not repeated.
//   - A page of the log is read and encoded once, however many clients follow. The log is not held open while a frame is written.
//   - Nothing blocks on a client. Queues are bounded, and a client that exceeds its bound is closed with the position at which it can
//     continue. A client that catches up reads the log at its own pace, page by page; huge pages are shared by the clients receiving them.
//     A burst of more than one page is sent in steps, so that clients that do read keep up; one that does not can delay it once by a
//     fraction of a second.
//   - Input of clients is discarded. A client that leaves pings unanswered is cut off.
//   - When Run ends, all connections are closed, each with the position at which the client can continue.
//   - That position is always the end of a page. A page that was started is sent completely before the close frame, so that nothing is
//     missing or repeated.
package push

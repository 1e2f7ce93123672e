// Package mcp lets agents use the tools of MCP servers: programs that it starts, and addresses. Servers is a tools.Source.
//
// It guarantees
//   - that a server is started only when it is needed, again after a failure only after a back-off, and ends with the program, with all
//     processes that it has started;
//   - that what a server does wrong harms only calls of its own tools: it may hang, flood, die, or send any schema, name or result;
//   - that a tool is called once per call: nothing here repeats a request;
//   - that the values of variables and headers of the configuration are in no log, event or result.
//
// Whether a failed call may have had its effect is judged here and recorded by package tools/effects. Input that a server asks for is
// declined: there are no approvals for it.
package mcp

// Package tools is the registry of what agents can do: each tool has a JSON Schema of its arguments and rules about who may call it.
// Agents and the gateway use it as a tool.Box. The tools themselves are in the packages below, one per group, one file per tool.
//
// It promises
//   - that a caller cannot tell a forbidden tool from a missing one: neither is offered, and the answer is the same;
//   - that a tool gets exactly the arguments that its schema has accepted;
//   - that no tool harms its caller: arguments, answers and time are bounded, and a panic is an error;
//   - that internal errors of a tool appear in the log only.
package tools

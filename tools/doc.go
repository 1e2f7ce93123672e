// Package tools holds what agents can do: a registry of tools, each with a JSON Schema of its arguments and with who may call it. Agents
// and wires reach it as a tool.Box. The tools themselves are in packages below this one, one for each group, one file for each tool.
//
// It promises
//   - that who may not call a tool cannot tell it from one that there is not: neither is offered, and the answer is the same;
//   - that a tool sees arguments only after its schema has judged them, and exactly those that were judged;
//   - that no tool harms its caller: arguments, answers and time are bounded, and what panics is an error;
//   - that what went wrong inside of a tool is in the log alone.
package tools

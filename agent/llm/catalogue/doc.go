// Package catalogue finds the model that a reference such as fake/echo-1 names, by what is configured, and opens its provider when it is
// asked for first.
//
// A provider is one of models.providers, or one of a few that are known by name and need no more than a key. The key is the one that is
// configured, else that of the environment. Nothing is asked of a provider before a run asks it.
package catalogue

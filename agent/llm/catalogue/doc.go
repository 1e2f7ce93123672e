// Package catalogue resolves model references such as fake/echo-1 according to the configuration, and opens their
// providers on first use.
//
// A provider is an entry of models.providers, or one of a few built-in ones that need only a key. The configured key
// takes precedence over the environment. Providers are not contacted before a run needs them.
package catalogue

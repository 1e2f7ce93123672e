// Package web holds the built page of Task-Hub. Its sources are beside it; make ui builds dist from them.
package web

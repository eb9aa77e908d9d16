// Package client describes connections.
package client

import (
	"fmt"

	"example.org/client/config"
)

// Describe says where and how long a client tries to connect.
func Describe(text string) (string, error) {
	settings, err := config.Parse(text)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s within %s", settings.Address, settings.Timeout), nil
}

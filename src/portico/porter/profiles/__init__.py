"""Profiles: how the model loop works with a class of models, as data."""

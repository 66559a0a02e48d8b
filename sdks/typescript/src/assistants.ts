/** The address of a Space for clients of MCP. */
export function assistantUrl(baseUrl: string, spaceId: number): string {
  return `${baseUrl.replace(/\/+$/, "")}/mcp/${spaceId}/public-api`;
}

export type AssistantServer = { type: "http"; url: string; headers?: { Authorization: string } };

/** The entry of an `mcpServers` file: with a personal `token`, or else by logging in. */
export function configureAssistant(
  baseUrl: string,
  spaceId: number,
  token?: string,
): { mcpServers: { headwater: AssistantServer } } {
  const server: AssistantServer = { type: "http", url: assistantUrl(baseUrl, spaceId) };
  if (token) server.headers = { Authorization: `Bearer ${token}` };
  return { mcpServers: { headwater: server } };
}
